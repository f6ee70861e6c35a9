"""How a memory's name and its document id are made from each other.

    python3 examples/python/memory_id.py hippo/testdata/id_vectors.json

checks these functions against the ids that the functions written in Go use.
"""

import base64
import json
import re
import sys

MAX_ID = 1490  # bytes; a longer id cannot be a key of the index
MAX_NAME = MAX_ID * 6 // 8


def memory_id(name):
    """The document id of the memory of this name."""
    raw = name.encode("utf-8")
    if not 0 < len(raw) <= MAX_NAME:
        raise ValueError(f"a name is 1 to {MAX_NAME} bytes long, not {len(raw)}")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def memory_name(id):
    """The name that a document id stands for; None where it stands for none."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", id) or len(id) > MAX_ID:
        return None
    try:
        name = base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)).decode("utf-8")
    except ValueError:
        return None
    return name if memory_id(name) == id else None


def check(path):
    with open(path, encoding="utf-8") as file:
        vectors = [v for v in json.load(file)["vectors"] if v["naming"] == "base64url"]
    wrong = 0
    for v in vectors:
        if v["name"] is not None:
            try:
                got = memory_id(v["name"])
            except ValueError:
                got = None
            if got != v["id"]:
                wrong += 1
                print(f"the id of {v['name']!r} is {got!r}, want {v['id']!r}")
        if v["id"] is not None and memory_name(v["id"]) != v["name"]:
            wrong += 1
            print(f"the name of {v['id']!r} is {memory_name(v['id'])!r}, want {v['name']!r}")
    print(f"{len(vectors)} vectors, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if check(sys.argv[1]) else 0)
