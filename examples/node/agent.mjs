// One exchange of an agent, and its memory pass, with what Node brings along.
//
//     node examples/node/agent.mjs http://127.0.0.1:8080 [THREAD]
//
// The address is what "hippofire local" prints; docs/deploy.md says how deployed functions
// are called. Where FIRESTORE_EMULATOR_HOST and HIPPOFIRE_PROJECT are set, the pass
// writes one memory by itself, as an agent does that has a database client;
// docs/agent.md shows the same with Google's library.

import { memoryId } from "./memory_id.mjs";

const [base, thread = "node"] = process.argv.slice(2);
const tenant = "example";
const { env } = process;

async function post(url, body, headers) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw Object.assign(new Error(`${url} answered ${answer.status}: ${text}`), { status: answer.status });
  return JSON.parse(text);
}

// call calls a function, and again while the failure may pass: a repeated call
// changes nothing.
async function call(name, body) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await post(`${base}/${name}`, body);
    } catch (error) {
      if (error.status < 500 || attempt === 3) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
  }
}

// writeMemory writes a memory as anybody may; the trigger keeps the index equal to it.
async function writeMemory(name, content) {
  const database = `projects/${env.HIPPOFIRE_PROJECT}/databases/(default)`;
  const write = {
    update: {
      name: `${database}/documents/tenants/${tenant}/memories/${memoryId(name)}`,
      fields: { name: { stringValue: name }, content: { stringValue: content } },
    },
    updateMask: { fieldPaths: ["name", "content"] },
    updateTransforms: [{ fieldPath: "updated_at", setToServerValue: "REQUEST_TIME" }],
  };
  const url = `http://${env.FIRESTORE_EMULATOR_HOST}/v1/${database}/documents:commit`;
  await post(url, { writes: [write] }, { Authorization: "Bearer owner" });
}

async function main() {
  const where = { tenant, thread };
  const asked = { id: "m1", role: "user", content: "We take the place on Main St, $2,300 a month." };
  const turn = await call("TurnContext", { ...where, message: asked });
  console.log(`the model sees ${turn.blocks.length} blocks, ${turn.ledger.tokens.total} tokens`);

  const reply = { id: "m2", role: "assistant", content: "Noted. I will ask for the papers." }; // the model's
  const saved = await call("SaveTurn", { ...where, messages: [asked, reply] });
  console.log(`saved ${saved.created.length} messages`);

  // What the memory pass decided to keep. It is sent as it is, and the very same
  // again where no answer came.
  const filed = {
    episode: "Took the place on Main St at $2,300 a month; papers to be asked for",
    writes: [{ name: "pages/Second Location", content: "Main St, $2,300 a month, agreed." }],
  };
  if (env.FIRESTORE_EMULATOR_HOST && env.HIPPOFIRE_PROJECT) {
    await writeMemory("notebook/Papers", "Ask for the lease of Main St.");
    filed.wrote = ["notebook/Papers"];
  }
  const episode = { ...where, from: "m1", to: "m2", speaker: "user", ...filed };
  const recorded = await call("RecordEpisode", episode);
  console.log(`recorded: ${recorded.written}, indexed: ${recorded.indexed}, missing: ${JSON.stringify(recorded.missing ?? [])}`);
  console.log(`again: repeated ${(await call("RecordEpisode", episode)).repeated}`);

  const opened = await call("OpenStretch", { ...where, handle: recorded.handle });
  console.log(`behind the line: ${opened.messages.length} messages`);
  const found = await call("SearchHistory", { ...where, query: "Main St" });
  console.log(`found: ${found.hits[0].message.id}`);
}

if (!base) {
  console.error("usage: node examples/node/agent.mjs URL [THREAD]");
  process.exit(2);
}
await main();
