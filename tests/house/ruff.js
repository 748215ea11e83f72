// ruff.js FOLDER SETTINGS FILE...: what ruff, installed in FOLDER by npm, finds in files of Python, a
// line each; SETTINGS are those of ruff.toml, as JSON.
const fs = require('fs');
const [folder, settings, ...files] = process.argv.slice(2);
const ruff = require(`${folder}/node_modules/@astral-sh/ruff-wasm-nodejs`);

const workspace = new ruff.Workspace(JSON.parse(settings), ruff.PositionEncoding.Utf32);
let found = false;
for (const file of files) {
  for (const one of workspace.check(fs.readFileSync(file, 'utf8'))) {
    const at = one.start_location;
    console.log(`${file}:${at.row}:${at.column}: ${one.code} ${one.message}`);
    found = true;
  }
}
process.exitCode = found ? 1 : 0;
