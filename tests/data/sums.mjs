// Sums of the columns of HDF5 files, by the HDF5 that h5wasm has: sums.mjs H5WASM FILE...
// A line of JSON a file: {"version": "2.0.0", "tables": {"operators": {"rows": 3, "start": "123"}}}.
import fs from "node:fs";
import path from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { default: h5wasm } = await import(path.join(folder, "dist/node/hdf5_hl.js"));
await h5wasm.ready;
const said = /HDF5 library version: (\d+\.\d+\.\d+)/.exec(
  fs.readFileSync(path.join(folder, "dist/node/hdf5_util.js"), "latin1"));

const WHOLE = 0; // H5T_INTEGER
for (const name of files) {
  const file = new h5wasm.File(name, "r");
  const tables = {};
  for (const key of file.keys()) {
    const table = file.get(key);
    const members = table.metadata.compound_type.members;
    const rows = table.shape[0] > 0 ? table.value : [];
    tables[key] = { rows: rows.length };
    members.forEach((member, place) => {
      if (member.type === WHOLE) {
        const sum = rows.reduce((so_far, row) => so_far + BigInt(row[place]), 0n);
        tables[key][member.name] = BigInt.asUintN(64, sum).toString();
      }
    });
  }
  console.log(JSON.stringify({ version: said ? said[1] : "unknown", tables }));
  file.close();
}
