// The report's JSON, with the arrays that stand beside it put in their places.
"use strict";

const ARRAYS = { u1: Uint8Array, f4: Float32Array, f8: Float64Array };

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function readLeb128(bytes, count) {
  const values = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let value = 0;
    let factor = 1;
    let byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    values[i] = value;
  }
  return values;
}

function unzigzag(value) {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

function arrayOf(buffer, place) {
  return place.type === "leb128" ? readLeb128(new Uint8Array(buffer), place.count)
    : new ARRAYS[place.type](buffer);
}

function fill(part, buffers) {
  if (part === null || typeof part !== "object") return part;
  if (typeof part.blob === "number") return arrayOf(buffers[part.blob], part);
  for (const key of Object.keys(part)) part[key] = fill(part[key], buffers);
  return part;
}

async function readReport() {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const buffers = await Promise.all(read("arrays").map(inflate));
  return fill(read("report"), buffers);
}
