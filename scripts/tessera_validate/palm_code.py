"""What PALM's public code printed when it was run."""

from page import rows_of

def code_rows(table):
    return [row for row in rows_of("palm_tables.csv") if row["table"].startswith(table)]


def code_figure(rows, model, variant, tp=8):
    for row in rows:
        if row["model"] == model and row["variant"].startswith(variant) and int(row["tp"]) == tp:
            return row["palm_seq_s"]
    return ""


def say_whose(report):
    report.say("*PALM, paper* is what the paper prints; *PALM, code* is what its public code printed "
               "when run (`tests/validation/reference/palm_tables.csv`).")
    report.say()
