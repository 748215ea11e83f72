"""Pictures of machines."""
import xml.dom.minidom

from program import HERE, check, expect, expect_refusal

MACHINES = HERE.parent.parent / "configs" / "machines"
SVG = "{http://www.w3.org/2000/svg}"


def drawn(program, machine, name, *more):
    path = program.scratch / name
    done = program.call("show", "--topology", machine, "-o", path, *more)
    expect(done.returncode == 0, done.stderr_text)
    return path.read_text(encoding="utf-8")


def texts(svg):
    return [element.firstChild.data for element in
            xml.dom.minidom.parseString(svg).getElementsByTagName("text")]


@check
def topology_as_svg(program):
    shown = texts(drawn(program, MACHINES / "hcsim_cxl.yaml", "cxl.svg"))
    for text in ("tor x 32", "server x 16", "xpu[7]", "h100", "memory[0]", "unlimited", "cxl_core",
                 "62.4 GB/s, 100 ns", "4 x 128 GB/s, 250 ns"):
        expect(text in shown, "%s is not in %s" % (text, shown))
    expect(shown.count("h100") == 8, "one server stands for all")
    # Racks of another type are another box.
    mixed = texts(drawn(program, MACHINES / "hcsim_cxl.yaml", "cxl.svg", "--set",
                        "machine.topology.nodes.tor.type=[h100, v100 x 3]"))
    expect("tor x 8" in mixed and "tor x 24" in mixed and mixed.count("v100") == 8, mixed)


@check
def topology_as_dot(program):
    dot = drawn(program, MACHINES / "hcsim_pcie.yaml", "pcie.dot")
    for text in ('label="tor x 32"', 'label="server x 16"', '"xpu[0]\\nh100", shape=box',
                 'shape=cylinder', 'label="4 x 128 GB/s, 250 ns"'):
        expect(text in dot, "%s is not in %s" % (text, dot))
    expect(dot.count("{") == dot.count("}"), "brackets")
    expect(program.call("show", "--topology", MACHINES / "hcsim_pcie.yaml").stdout_text == dot,
           "what is printed is what is written")


@check
def topology_of_every_machine(program):
    for machine in sorted(MACHINES.glob("*.yaml")):
        shown = texts(drawn(program, machine, "machine.svg"))
        expect(shown[0].startswith(machine.stem + ": "), shown[0])
        expect(any("/s, " in text for text in shown), "no link is labelled in %s" % machine)


@check
def topology_with_everything(program):
    smaller = ["--set", "machine.topology.nodes.tor.count=2",
               "--set", "machine.topology.templates.tor.nodes.server.count=3"]
    shown = texts(drawn(program, MACHINES / "hcsim_pcie.yaml", "all.svg", "--all", *smaller))
    expect(shown.count("h100") == 48 and "tor[1]" in shown and "server[2]" in shown, shown)


@check
def topology_of_an_experiment(program):
    shown = texts(drawn(program, HERE / "short.yaml", "short.svg"))
    expect("nodes, " in shown[0], shown[0])


@check
def topology_refusals(program):
    machine = MACHINES / "hcsim_pcie.yaml"
    expect_refusal(program.call("show", "--topology", machine, "-o", program.scratch / "a.png"), 2,
                   "must end in .svg, or in .dot")
    expect_refusal(program.call("show", "--topology", "nowhere.yaml"), 2, "cannot read nowhere.yaml")
    expect_refusal(program.call("show", "-o", "a.svg", program.folder), 2,
                   "--output is for --topology")
    expect_refusal(program.call("show", "--topology", machine, "--set",
                                "machine.topology.nodes.tor.type=h101"), 2,
                   "unknown type of tiles 'h101'; did you mean 'h100'")
    other = program.scratch / "mine.svg"
    other.write_text("mine", encoding="utf-8")
    expect_refusal(program.call("show", "--topology", machine, "-o", other), 2,
                   "tessera show did not write it")
    neither = program.scratch / "neither.yaml"
    neither.write_text("name: x\n", encoding="utf-8")
    expect_refusal(program.call("show", "--topology", neither), 2,
                   "neither.yaml:1:1: error: neither a machine nor an experiment")
