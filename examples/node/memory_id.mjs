// How a memory's name and its document id are made from each other.
//
//     node examples/node/memory_id.mjs hippo/testdata/id_vectors.json
//
// checks these functions against the ids that the functions written in Go use.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const MAX_ID = 1490; // bytes; a longer id cannot be a key of the index
const MAX_NAME = Math.floor((MAX_ID * 6) / 8);

// memoryId is the document id of the memory of this name.
export function memoryId(name) {
  const raw = Buffer.from(name, "utf8");
  if (!name.isWellFormed() || raw.length === 0 || raw.length > MAX_NAME) {
    throw new RangeError(`a name is well-formed and 1 to ${MAX_NAME} bytes long, not ${raw.length}`);
  }
  return raw.toString("base64url");
}

// memoryName is the name that a document id stands for; null where it stands for none.
export function memoryName(id) {
  if (!/^[A-Za-z0-9_-]+$/.test(id) || id.length > MAX_ID) return null;
  const raw = Buffer.from(id, "base64url");
  if (raw.toString("base64url") !== id) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return null;
  }
}

function check(path) {
  const vectors = JSON.parse(readFileSync(path, "utf8")).vectors.filter((v) => v.naming === "base64url");
  let wrong = 0;
  const expect = (what, got, want) => {
    if (got === want) return;
    wrong++;
    console.log(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  };
  for (const v of vectors) {
    if (v.name !== null) {
      let got = null;
      try {
        got = memoryId(v.name);
      } catch {}
      expect(`the id of ${JSON.stringify(v.name)}`, got, v.id);
    }
    if (v.id !== null) expect(`the name of ${JSON.stringify(v.id)}`, memoryName(v.id), v.name);
  }
  console.log(`${vectors.length} vectors, ${wrong} wrong`);
  return wrong;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = check(process.argv[2]) ? 1 : 0;
}
