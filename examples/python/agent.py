"""One exchange of an agent, and its memory pass, with the standard library alone.

    python3 examples/python/agent.py http://127.0.0.1:8080 [THREAD]

The address is what "hippofire local" prints; docs/deploy.md says how deployed functions
are called. Where FIRESTORE_EMULATOR_HOST and HIPPOFIRE_PROJECT are set, the pass
writes one memory by itself, as an agent does that has a database client;
docs/agent.md shows the same with Google's library.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

from memory_id import memory_id

TENANT = "example"


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def call(function, body):
    """Calls a function, and again while the failure may pass: a repeated call changes nothing."""
    for attempt in range(4):
        try:
            return post(f"{BASE}/{function}", body, {})
        except urllib.error.HTTPError as error:
            problem = error.read().decode()
            if error.code < 500 or attempt == 3:
                raise SystemExit(f"{function} answered {error.code}: {problem}")
        except urllib.error.URLError as error:
            if attempt == 3:
                raise SystemExit(f"{function}: {error.reason}")
        time.sleep(0.25 * 2**attempt)


def write_memory(name, content):
    """Writes a memory as anybody may; the trigger keeps the index equal to it."""
    database = f"projects/{os.environ['HIPPOFIRE_PROJECT']}/databases/(default)"
    write = {
        "update": {
            "name": f"{database}/documents/tenants/{TENANT}/memories/{memory_id(name)}",
            "fields": {"name": {"stringValue": name}, "content": {"stringValue": content}},
        },
        "updateMask": {"fieldPaths": ["name", "content"]},
        "updateTransforms": [{"fieldPath": "updated_at", "setToServerValue": "REQUEST_TIME"}],
    }
    url = f"http://{os.environ['FIRESTORE_EMULATOR_HOST']}/v1/{database}/documents:commit"
    post(url, {"writes": [write]}, {"Authorization": "Bearer owner"})


def main():
    where = {"tenant": TENANT, "thread": THREAD}
    asked = {"id": "m1", "role": "user", "content": "We take the place on Main St, $2,300 a month."}
    turn = call("TurnContext", {**where, "message": asked})
    print(f"the model sees {len(turn['blocks'])} blocks, {turn['ledger']['tokens']['total']} tokens")

    reply = {"id": "m2", "role": "assistant", "content": "Noted. I will ask for the papers."}  # the model's
    saved = call("SaveTurn", {**where, "messages": [asked, reply]})
    print(f"saved {len(saved['created'])} messages")

    # What the memory pass decided to keep. It is sent as it is, and the very same
    # again where no answer came.
    filed = {
        "episode": "Took the place on Main St at $2,300 a month; papers to be asked for",
        "writes": [{"name": "pages/Second Location", "content": "Main St, $2,300 a month, agreed."}],
    }
    if "FIRESTORE_EMULATOR_HOST" in os.environ and "HIPPOFIRE_PROJECT" in os.environ:
        write_memory("notebook/Papers", "Ask for the lease of Main St.")
        filed["wrote"] = ["notebook/Papers"]
    episode = {**where, "from": "m1", "to": "m2", "speaker": "user", **filed}
    recorded = call("RecordEpisode", episode)
    print(f"recorded: {recorded['written']}, indexed: {recorded['indexed']}, missing: {recorded.get('missing', [])}")
    print(f"again: repeated {call('RecordEpisode', episode)['repeated']}")

    opened = call("OpenStretch", {**where, "handle": recorded["handle"]})
    print(f"behind the line: {len(opened['messages'])} messages")
    found = call("SearchHistory", {**where, "query": "Main St"})
    print(f"found: {found['hits'][0]['message']['id']}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BASE = sys.argv[1].rstrip("/")
    THREAD = sys.argv[2] if len(sys.argv) > 2 else "python"
    main()
