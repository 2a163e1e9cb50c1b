#!/usr/bin/env python3
"""Verifies an evidence bundle of cscp offline: a second implementation, independent of the server's own.

    python3 cscp_verify.py --key VKEY [--kept FILE] [--expect SELECTION]... [--json] BUNDLE
    python3 cscp_verify.py --unauthenticated [--json] BUNDLE

Needs Python 3.9 or later, its standard library, and `cryptography` for the signatures. Written from docs/EVIDENCE.md and
the RFCs (RFC 6962 / 9162 trees, C2SP signed notes and checkpoints); it shares no line with the server. Ends with 0 if
everything holds and a key that you named has signed it, with 1 if not, with 2 if it could not look. With --unauthenticated
the bundle only has to fit itself. The codes of faults are those of
`cscp verify`, and a test holds the two programs against each other.
"""

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    sys.exit("cscp_verify.py needs the package `cryptography`: pip install cryptography")

FIRST_FORMAT, FORMAT = FORMATS = ("cscp-evidence-bundle/v1", "cscp-evidence-bundle/v2")
MAX_SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64
MAX_FAULTS = 100
MAX_NOTE_BYTES = 1_000_000
MAX_SIGNATURES = 100
# No clock shows a later second since 1970: the last of the year 9999.
LAST_SECOND = 253402300799
MAX_TREE = 2**63
WITHHELD = {"key", "nonce_digest", "title_key", "title_digest", "salt", "content_salt", "prompt_salt", "message_key", "echo",
            "body_digest"}
ABOUT = ["conversation_id", "actor_id", "context_id", "message_ids", "command_id", "correlation_id", "space_id",
         "fact_uid", "reading_id"]
# What a request may name: one subject, each with the member of artifacts that tells it, a time, and a text of its own.
SUBJECTS = {"command_id": "command_id", "context_id": "context_id", "conversation_id": "conversation_id",
            "actor_id": "actor_id", "fact_space": "space_id"}
TIMES = ("from", "until")
ASKED = (*SUBJECTS, *TIMES, "nonce")
DIGEST = re.compile(r"sha256:([0-9a-f]{64})\Z")
HEX = re.compile(r"[0-9a-f]{64}\Z")
MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{0,6}))?Z\Z")
# Points of small order: under such a key more than one text has the same signature.
WEAK_KEYS = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}


class Unreadable(Exception):
    """Bytes that are not what they should be."""


class Fault(Exception):
    """Something that does not fit."""

    def __init__(self, code, header=None):
        super().__init__(code)
        self.code = code
        self.header = header


# --- JSON, read so that two programs cannot read it differently ---------------------------------------------------------


def _members(pairs):
    read = dict(pairs)
    if len(read) != len(pairs):
        raise Unreadable("a member twice")
    return read


def _integer(text):
    number = int(text)
    if abs(number) > MAX_SAFE_INTEGER:
        raise Unreadable("an integer beyond 2^53 - 1")
    return number


def _float(text):
    number = float(text)
    if number in (float("inf"), float("-inf")) or (number == int(number) and abs(number) >= 2**53):
        raise Unreadable("a number that readers disagree on")
    return number


def _constant(_):
    raise Unreadable("not a number of JSON")


def _check_depth(value, depth=0):
    if isinstance(value, (dict, list)):
        if depth >= MAX_DEPTH:
            raise Unreadable("too deep")
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, depth + 1)


def read_json(data):
    """A whole text; what stands inside a line is bounded where it is known what it is."""
    value = parse_json(data)
    deep_enough(value)
    return value


def deep_enough(value):
    try:
        _check_depth(value)
    except RecursionError as error:
        raise Unreadable("too deep") from error
    return True


def parse_json(data):
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_members, parse_int=_integer, parse_float=_float,
                           parse_constant=_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # no half of a surrogate pair
        return value
    except (ValueError, RecursionError, Unreadable) as error:
        raise Unreadable(str(error)) from error


def same(a, b):
    """Equality that tells 1 from true and from 1.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def shaped(value, required, optional=()):
    """An object with these members and no others, each of its type."""
    if not isinstance(value, dict):
        raise Unreadable("not an object")
    known = {**required, **dict(optional)}
    for name, kind in known.items():
        if name not in value or value[name] is None and name not in required:
            if name in required:
                raise Unreadable(f"{name} is missing")
            continue
        if not kind(value[name]):
            raise Unreadable(f"{name} is of another type")
    if value.keys() - known.keys():
        raise Unreadable("an unknown member")
    return value


def is_text(value):
    return isinstance(value, str)


def is_count(value):
    return type(value) is int and value >= 0


def is_texts(value):
    return isinstance(value, list) and all(map(is_text, value))


def is_anything(value):
    return deep_enough(value)


# --- hashes, trees, notes -----------------------------------------------------------------------------------------------


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def prefixed(digest):
    return "sha256:" + digest.hex()


def digest_of(text):
    match = DIGEST.match(text)
    return bytes.fromhex(match.group(1)) if match else None


def node(left, right):
    return sha256(b"\x01", left, right)


def included(record, index, size, proof, root):
    """RFC 9162, 2.1.3.2."""
    if index >= size:
        return False
    fn, sn, at = index, size - 1, sha256(b"\x00", record)
    for beside in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            at = node(beside, at)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            at = node(at, beside)
        fn >>= 1
        sn >>= 1
    return sn == 0 and at == root


def consistent(old_size, old_root, new_size, new_root, proof):
    """RFC 9162, 2.1.4.2, for 0 < old_size < new_size."""
    if not 0 < old_size < new_size or not proof:
        return False
    path = list(proof)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    fn, sn = old_size - 1, new_size - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    fr = sr = path[0]
    for beside in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr = node(beside, fr)
            sr = node(beside, sr)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            sr = node(sr, beside)
        fn >>= 1
        sn >>= 1
    return sn == 0 and fr == old_root and sr == new_root


def strict_base64(text):
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unreadable("not base64") from error
    if base64.b64encode(data).decode() != text:
        raise Unreadable("base64 of another form")
    return data


def is_name(name):
    return bool(name) and not any(c == "+" or c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 for c in name)


class Key:
    """A C2SP vkey with Ed25519."""

    ALGORITHM = 1

    def __init__(self, vkey):
        parts = vkey.split("+", 2)
        if len(parts) != 3:
            raise Unreadable("not a verifier key")
        self.name, key_id, encoded = parts
        public = strict_base64(encoded)
        derived = sha256(self.name.encode(), b"\n", public)[:4]
        if not is_name(self.name) or len(public) != 33 or public[0] != self.ALGORITHM or derived.hex() != key_id:
            raise Unreadable("not a verifier key")
        if public[1:].hex() in WEAK_KEYS:
            raise Unreadable("a weak key")
        self.id = derived
        try:
            self.public = Ed25519PublicKey.from_public_bytes(public[1:])
        except ValueError as error:
            raise Unreadable("not a public key") from error

    def verifies(self, text, signature):
        try:
            self.public.verify(signature, text.encode())
            return True
        except InvalidSignature:
            return False


class Witness(Key):
    """The vkey of a witness (C2SP cosignature/v1)."""

    ALGORITHM = 4

    def has_cosigned(self, note):
        """Whether a note, which was opened before, has a cosignature of this witness, and none under its name is forged."""
        end = note.rfind("\n\n")
        text, found = note[:end + 1], False
        for line in note[end + 2:-1].split("\n"):
            name, _, encoded = line[2:].partition(" ")
            blob = strict_base64(encoded)
            if name != self.name or blob[:4] != self.id:
                continue
            time = int.from_bytes(blob[4:12], "big")
            if len(blob) != 76 or not 1 <= time <= LAST_SECOND \
                    or not self.verifies(f"cosignature/v1\ntime {time}\n{text}", blob[12:]):
                return False
            found = True
        return found


def is_note_text(text):
    return text.endswith("\n") and all(c == "\n" or c >= " " for c in text)


def open_note(note, keys):
    """The text of a signed note that one of the keys has signed; nothing if none has, or one of them did not."""
    if len(note.encode()) > MAX_NOTE_BYTES:
        return None
    end = note.rfind("\n\n")
    if end < 0:
        return None
    text, signatures = note[:end + 1], note[end + 2:]
    if not is_note_text(text) or not signatures.endswith("\n"):
        return None
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        return None
    known = False
    for line in lines:
        if not line.startswith("— "):
            return None
        name, _, encoded = line[2:].partition(" ")
        try:
            blob = strict_base64(encoded)
        except Unreadable:
            return None
        if not is_name(name) or len(blob) <= 4:
            return None
        for key in keys:
            if key.name == name and key.id == blob[:4]:
                if not key.verifies(text, blob[4:]):
                    return None
                known = True
    return text if known else None


class Checkpoint:
    """A C2SP checkpoint without extension lines."""

    def __init__(self, text):
        lines = text.split("\n")
        if len(lines) != 4 or lines[3] or not lines[0] or not re.match(r"(0|[1-9][0-9]*)\Z", lines[1]):
            raise Unreadable("not a checkpoint")
        self.origin, self.size, self.root = lines[0], int(lines[1]), strict_base64(lines[2])
        if len(self.root) != 32 or self.size > MAX_TREE:
            raise Unreadable("not a checkpoint")


# --- what an artifact tells, against what its entry says ------------------------------------------------------------------


def tells(shown, full):
    if isinstance(shown, dict) and isinstance(full, dict):
        return (all(name in full and tells(value, full[name]) for name, value in shown.items())
                and all(name in shown or name in WITHHELD for name in full))
    if isinstance(shown, list) and isinstance(full, list):
        return len(shown) == len(full) and all(map(tells, shown, full))
    return same(shown, full)


def says(value, name, member):
    if isinstance(value, dict):
        return (name in value and same(value[name], member)) or any(says(v, name, member) for v in value.values())
    if isinstance(value, list):
        return any(says(item, name, member) for item in value)
    return False


NOTHING = object()


def member(value, name):
    return value.get(name, NOTHING) if isinstance(value, dict) else NOTHING


def alike(a, b):
    return a is b if a is NOTHING or b is NOTHING else same(a, b)


def tells_header(artifact, header, entry):
    expected = {
        "artifact_id": header["artifact_id"], "type": header["type"], "occurred_at": header["at"],
        "tenant_id": header["tenant_id"], "stream_id": header["stream_id"], "policy_hash": header["policy_hash"],
        "prev_hash": entry["prev_hash"], "payload_commitment": entry["payload_commitment"],
        "hash": entry["entry_hash"], "seq": header["seq"],
    }
    return all(alike(member(artifact, name), value) for name, value in expected.items())


def tells_payload(artifact, payload):
    about = member(payload, "about")
    event = payload.get("event") if isinstance(payload, dict) else None
    key = member(artifact, "idempotency_key")
    reference = member(member(artifact, "extensions"), "context_ref")
    return (all(alike(member(artifact, name), member(about, name)) for name in ABOUT)
            and alike(member(artifact, "policy"), member(payload, "policy"))
            and member(artifact, "erased") is False
            and tells(artifact.get("data") if isinstance(artifact, dict) else None, event)
            and (key is NOTHING or says(event, "idempotency_key", key))
            and (not isinstance(reference, dict)
                 or all(says(payload, n, v) or says(payload, "context_" + n, v) for n, v in reference.items())))


def tells_content(artifact):
    return any(member(artifact, name) is not NOTHING for name in ["data", *ABOUT])


# --- the bundle -----------------------------------------------------------------------------------------------------------


HEADER = {"v": is_count, "tenant_id": is_text, "stream_id": is_text, "seq": is_count, "artifact_id": is_text,
          "type": is_text, "at": is_text, "policy_hash": is_text}


def read_chains(value):
    return isinstance(value, list) and all(
        shaped(chain, {"stream_id": is_text}, {"entries": is_count, "last": is_text}) for chain in value)


def read_coverage(value):
    return shaped(value, {"kind": lambda kind: kind in ("whole", "streams", "selection")},
                  {"stream_ids": is_texts, "chains": read_chains})


def read_selection(value):
    shaped(value, {}, {**dict.fromkeys((*ASKED, "payloads"), is_text), "consistent_from": is_count})
    return True


LINES = {
    "bundle": lambda v: shaped(v, {"format": is_text, "origin": is_text, "tenant_id": is_text, "environment": is_text,
                                   "created_at": is_text, "selection": read_selection, "coverage": read_coverage}),
    "keys": lambda v: is_texts(v) or _unreadable(),
    "checkpoint": lambda v: is_text(v) or _unreadable(),
    "consistency": lambda v: shaped(v, {"from": is_count, "proof": is_texts}),
    "schema": is_anything,
    "policy": lambda v: shaped(v, {"hash": is_text}, {"document": is_text}),
    "entry": lambda v: shaped(v, {"header": is_text, "prev_hash": is_text, "payload_commitment": is_text,
                                  "entry_hash": is_text, "leaf_index": is_count, "proof": is_texts,
                                  "artifact": is_anything}, {"payload": is_text, "salt": is_text}),
    "frame": lambda v: shaped(v, {"context_frame_id": is_text, "context_hash": is_text},
                              {"frame": is_text, "salt": is_text, "shown": is_anything}),
    "summary": lambda v: shaped(v, {"entries": is_count, "frames": is_count, "waiting": is_count,
                                    "redacted": is_texts}),
    "end": lambda v: shaped(v, {"sha256": is_text, "note": is_text}),
}


def _unreadable():
    raise Unreadable("of another type")


def read_line(data):
    value = parse_json(data)
    if not isinstance(value, dict) or len(value) != 1:
        raise Unreadable("not one member")
    (kind, content), = value.items()
    if kind not in LINES:
        raise Unreadable("an unknown line")
    LINES[kind](content)
    return kind, content


def moment(text):
    match = MOMENT.match(text)
    return match.group(1) + (match.group(2) or "").ljust(6, "0") if match else None


def salted(purpose, salt, text):
    return sha256(purpose, bytes.fromhex(salt), text.encode()) if HEX.match(salt) else None


class Scope:
    """What a bundle was asked for, and what it promises to hold of that."""

    def __init__(self, opening=None):
        opening = opening or {"format": "", "selection": {}, "coverage": {"kind": None}}
        self.format, coverage = opening["format"], opening["coverage"]
        self.selection = {name: value for name, value in opening["selection"].items() if value is not None}
        self.named = [name for name in SUBJECTS if name in self.selection]
        self.window = {name: moment(self.selection[name]) for name in TIMES if name in self.selection}
        self.kind = coverage["kind"]
        self.chains = self.read_chains(coverage)
        self.ids = {chain["stream_id"] for chain in self.chains or []}

    def read_chains(self, coverage):
        """The chains that come as a whole, in the form of the format; None if they are not in it."""
        ids, chains = coverage.get("stream_ids"), coverage.get("chains")
        if self.kind != "streams":
            return [] if ids is None and chains is None else None
        if self.format == FIRST_FORMAT:
            return None if ids is None or chains is not None else [{"stream_id": stream} for stream in ids]
        fits = ids is None and chains is not None and all(chain.get("entries") is not None for chain in chains)
        return chains if fits else None

    def is_known(self):
        return self.format in FORMATS and self.chains is not None and None not in self.window.values()

    def is_promised(self):
        """Whether the server promises that for what was asked."""
        if self.kind == "whole":
            return not self.named and not self.window
        if self.kind == "streams":
            return len(self.named) == 1 and not self.window and self.named[0] not in ("command_id", "context_id")
        return len(self.named) == 1 or not self.named and bool(self.window)

    def answers(self, asked):
        def alike(name):
            wanted, told = asked.get(name), self.selection.get(name)
            if name in TIMES:
                return (wanted is None) == (told is None) and (wanted is None or moment(wanted) == moment(told))
            return wanted == told or name == "nonce" and wanted is None
        return all(map(alike, ASKED))

    def has_chain(self, stream):
        return stream in self.ids

    def promises(self, stream):
        return self.kind == "whole" or self.has_chain(stream)

    def holds(self, header, at, artifact):
        """Whether an entry is of what was asked for, as far as it tells."""
        if "from" in self.window and at < self.window["from"] or "until" in self.window and at >= self.window["until"]:
            return False
        if not self.named:
            return True
        name = self.named[0]
        told = member(artifact, SUBJECTS[name])
        fits = told is NOTHING or told == self.selection[name] or name == "actor_id"
        if self.kind == "selection":
            return fits and (told is not NOTHING or name not in ("command_id", "context_id"))
        if self.has_chain(header["stream_id"]):
            return fits
        return name not in ("actor_id", "fact_space") and told == self.selection[name]

    def completeness(self):
        if self.kind == "streams":
            stated = all(chain.get("entries") is not None for chain in self.chains)
            return "chains" if stated else "chains_without_end"
        return "whole" if self.kind == "whole" else "not_shown"


MISSING, REFUSED = "missing", "refused"


class Audit:
    def __init__(self, keys, kept, asked=None, witnesses=()):
        self.given, self.kept_note, self.asked, self.witnesses = keys, kept, asked, witnesses
        self.keys, self.keys_came, self.origin, self.tenant, self.scope = [], False, None, "", Scope()
        self.completeness, self.next_leaf = "not_shown", 0
        # A checkpoint, or why there is none: it has not come yet, or what came is not the log's.
        self.checkpoint, self.kept_is_shown = MISSING, False
        self.chains, self.frames, self.early_frames = {}, {}, {}
        # The policy packs that came, and those that entries name.
        self.packs, self.named_packs = set(), set()
        self.number, self.summed_up, self.ended, self.hasher = 0, False, False, hashlib.sha256()
        self.faults, self.fault_count = [], 0
        self.counts = dict.fromkeys(
            ["entries", "in_tree", "proven", "shown", "erased", "frames", "frames_proven", "policies", "waiting"], 0)

    def fault(self, code, header=None):
        self.fault_count += 1
        if len(self.faults) < MAX_FAULTS:
            header = header or {}
            self.faults.append({"line": self.number, "code": code, "artifact_id": header.get("artifact_id"),
                                "stream_id": header.get("stream_id"), "seq": header.get("seq")})

    def line(self, data):
        self.number += 1
        ended = self.ended
        try:
            kind, content = read_line(data)
        except Unreadable:
            kind, content = None, None
        if self.number == 1:
            if kind == "bundle":
                self.open(content)
            else:
                self.fault("not_a_bundle")
        elif self.ended or kind in (None, "bundle") or self.summed_up and kind in ("entry", "frame", "summary") \
                or kind == "keys" and (self.keys_came or self.checkpoint is not MISSING):
            self.fault("line")
        else:
            if self.checkpoint is MISSING and kind not in ("keys", "checkpoint", "entry"):
                self.fault("no_checkpoint")
            getattr(self, "take_" + kind)(content)
        if not ended and not self.ended:
            self.hasher.update(data + b"\n")

    def open(self, opening):
        scope = Scope(opening)
        if not scope.is_known():
            return self.fault("not_a_bundle")
        if not opening["origin"].endswith(f"/{opening['environment']}/{opening['tenant_id']}"):
            self.fault("foreign")
        if not scope.is_promised():
            self.fault("scope")
        if self.asked is not None and not scope.answers(self.asked):
            self.fault("other_request")
        self.completeness, self.scope = scope.completeness(), scope
        self.origin, self.tenant = opening["origin"], opening["tenant_id"]

    def believed(self):
        """Keys under another log's name are not believed here: their owner may sign for many logs."""
        return [key for key in self.given or self.keys if key.name == self.origin]

    def opened(self, note):
        text = open_note(note, self.believed())
        try:
            checkpoint = Checkpoint(text) if text is not None else None
        except Unreadable:
            return None
        return checkpoint if checkpoint and checkpoint.origin == self.origin else None

    def take_schema(self, _):
        pass

    def take_keys(self, keys):
        self.keys_came = True
        try:
            read = [Key(vkey) for vkey in keys]
        except Unreadable:
            return self.fault("key")
        if any(key.name != self.origin for key in read):
            return self.fault("key")
        self.keys = read

    def take_checkpoint(self, note):
        if self.checkpoint is not MISSING:
            return self.fault("checkpoint")
        checkpoint = self.opened(note)
        if checkpoint is None:
            self.checkpoint = REFUSED
            return self.fault("checkpoint")
        kept = self.opened(self.kept_note) if self.kept_note is not None else None
        if kept is not None and kept.size >= checkpoint.size:
            self.kept_is_shown = True
            if kept.size > checkpoint.size:
                self.fault("rolled_back")
            elif kept.root != checkpoint.root:
                self.fault("forked")
        for witness in self.witnesses:
            if not witness.has_cosigned(note):
                self.fault("cosignature")
        self.checkpoint = checkpoint

    def take_consistency(self, shown):
        kept = self.opened(self.kept_note) if self.kept_note is not None else None
        if kept is None or self.checkpoint in (MISSING, REFUSED):
            return
        proof = [digest_of(hash_) for hash_ in shown["proof"]]
        now = self.checkpoint
        if kept.size == now.size:
            follows = not proof and kept.root == now.root
        else:
            follows = consistent(kept.size, kept.root, now.size, now.root, proof)
        self.kept_is_shown = True
        if None in proof or shown["from"] != kept.size or not follows:
            self.fault("consistency")

    def take_policy(self, pack):
        self.counts["policies"] += 1
        document = pack.get("document")
        twice = pack["hash"] in self.packs
        self.packs.add(pack["hash"])
        if twice or document is not None and digest_of(pack["hash"]) != sha256(b"cscp.policy.v1", document.encode()):
            self.fault("policy")

    def take_entry(self, entry):
        self.counts["entries"] += 1
        try:
            header, at, payload = self.check(entry)
        except Fault as fault:
            self.next_leaf += 1
            if fault.header is not None:
                self.pass_over(fault.header)
            return self.fault(fault.code, fault.header)
        seq, stream = header["seq"], header["stream_id"]
        last_seq, last_hash, last_at = self.chains.get(stream, (0, bytes(32), ""))
        if seq <= last_seq:
            self.fault("sequence", header)
        elif seq == last_seq + 1 and last_hash is not None and digest_of(entry["prev_hash"]) != last_hash:
            self.fault("link", header)
        elif seq > last_seq + 1 and self.scope.promises(stream):
            self.fault("gap", header)
        elif at < last_at:
            self.fault("time", header)
        elif self.scope.kind == "whole" and self.in_tree() and entry["leaf_index"] != self.next_leaf:
            self.fault("leaf", header)
        artifact = entry["artifact"]
        self.counts["in_tree"] += self.in_tree()
        self.next_leaf = (entry["leaf_index"] if self.in_tree() else self.next_leaf) + 1
        self.counts["proven"] += payload is not NOTHING
        self.counts["shown"] += payload is NOTHING and tells_content(artifact)
        self.counts["erased"] += member(artifact, "erased") is True
        self.remember_frame(payload)
        self.named_packs.add(header["policy_hash"])
        if seq > last_seq:
            self.chains[stream] = (seq, digest_of(entry["entry_hash"]), at)

    def pass_over(self, header):
        """An entry that does not hold is there all the same: what follows it in its chain is not to blame."""
        last_seq, _, last_at = self.chains.get(header["stream_id"], (0, None, ""))
        if header["seq"] == last_seq + 1:
            self.chains[header["stream_id"]] = (header["seq"], None, last_at)

    def in_tree(self):
        """Whether entries are proven: without a checkpoint they are refused, with one that was refused they are not."""
        return self.checkpoint is not REFUSED

    def check(self, entry):
        """What can be said of an entry alone."""
        try:
            header = shaped(read_json(entry["header"]), HEADER)
        except Unreadable:
            raise Fault("header") from None
        if header["v"] != 1 or header["seq"] == 0:
            raise Fault("header")
        at = moment(header["at"])
        if at is None:
            raise Fault("header", header)
        if header["tenant_id"] != self.tenant:
            raise Fault("foreign", header)
        prev, commitment, own = (digest_of(entry[name]) for name in ("prev_hash", "payload_commitment", "entry_hash"))
        if None in (prev, commitment, own) \
                or own != sha256(b"cscp.entry.v1", prev, entry["header"].encode(), commitment):
            raise Fault("entry_hash", header)
        if self.checkpoint is MISSING:
            raise Fault("no_checkpoint", header)
        if self.checkpoint is not REFUSED:
            proof = [digest_of(hash_) for hash_ in entry["proof"]]
            if None in proof or not included(own, entry["leaf_index"], self.checkpoint.size, proof,
                                             self.checkpoint.root):
                raise Fault("not_in_log", header)
        payload = self.payload(entry, commitment, header)
        artifact = entry["artifact"]
        if not tells_header(artifact, header, entry) \
                or payload is not NOTHING and not tells_payload(artifact, payload):
            raise Fault("artifact", header)
        if not self.scope.holds(header, at, artifact):
            raise Fault("scope", header)
        return header, at, payload

    @staticmethod
    def payload(entry, commitment, header):
        text, salt = entry.get("payload"), entry.get("salt")
        if text is None and salt is None:
            return NOTHING
        if text is None or salt is None or salted(b"cscp.payload.v1", salt, text) != commitment:
            raise Fault("payload", header)
        try:
            return read_json(text)
        except Unreadable:
            raise Fault("payload", header) from None

    def remember_frame(self, payload):
        event = member(payload, "event")
        kind = member(event, "event")
        if kind == "frame_captured":
            of, context_hash = member(event, "frame"), member(event, "context_hash")
        elif kind == "command_bound":
            of = member(event, "command")
            context_hash = member(of, "context_hash")
        else:
            return
        frame_id = member(of, "context_frame_id")
        if is_text(frame_id) and is_text(context_hash):
            if self.early_frames.pop(frame_id, context_hash) != context_hash:
                self.fault("frame")
            self.frames[frame_id] = context_hash

    def take_frame(self, frame):
        self.counts["frames"] += 1
        text, salt, shown = frame.get("frame"), frame.get("salt"), frame.get("shown")
        holds = False
        if text is not None and salt is not None and shown is None:
            try:
                named = member(read_json(text), "context_frame_id") == frame["context_frame_id"]
            except Unreadable:
                named = False
            derived = salted(b"cscp.frame.v1", salt, text)
            if derived is None or prefixed(derived) != frame["context_hash"] or not named:
                return self.fault("frame")
            holds = True
        elif text is not None or salt is not None or shown is None:
            return self.fault("frame")
        captured = self.frames.get(frame["context_frame_id"])
        if captured is not None and captured != frame["context_hash"]:
            return self.fault("frame")
        if captured is None:
            self.early_frames[frame["context_frame_id"]] = frame["context_hash"]
        self.counts["frames_proven"] += holds and captured is not None

    def take_summary(self, summary):
        self.summed_up = True
        self.counts["waiting"] = summary["waiting"]
        self.compare_ends()
        whole = self.scope.kind != "whole" or self.counts["entries"] == self.size()
        if summary["entries"] != self.counts["entries"] or summary["frames"] != self.counts["frames"] or not whole:
            self.fault("count")
        # Of an entry that does not hold it is not known which pack it names, and that it does not was told.
        if not self.fault_count and self.packs != self.named_packs:
            self.fault("policy")

    def compare_ends(self):
        """Holds the chains that came against where the first line says that they end."""
        for chain in self.scope.chains:
            if chain.get("entries") is None:
                continue
            seq, found, _ = self.chains.get(chain["stream_id"], (0, None, ""))
            last = chain.get("last")
            # The hash of an entry that does not hold is not known, and that it does not was told.
            if chain["entries"] != seq or (last is None) != (seq == 0) \
                    or found is not None and digest_of(last) != found:
                self.fault("chain_end", {"stream_id": chain["stream_id"], "seq": chain["entries"]})

    def size(self):
        return 0 if self.checkpoint in (MISSING, REFUSED) else self.checkpoint.size

    def take_end(self, end):
        self.ended = True
        if not self.summed_up:
            self.fault("count")
        if end["sha256"] != prefixed(self.hasher.digest()):
            self.fault("digest")
        text = f"{self.scope.format}\n{self.origin or ''}\n{self.number - 1} lines\n{end['sha256']}\n"
        if open_note(end["note"], self.believed()) != text:
            self.fault("signature")

    def finish(self):
        self.number += 1
        if self.number == 1:
            self.fault("not_a_bundle")
        if not self.ended:
            self.fault("truncated")
        if self.checkpoint is MISSING:
            self.fault("no_checkpoint")
        if self.kept_note is not None and not self.kept_is_shown:
            self.fault("consistency")
        return {
            "sound": self.fault_count == 0, "origin": self.origin or "", "tenant_id": self.tenant,
            "size": self.size(), "keys": "given" if self.given else "bundle", "completeness": self.completeness,
            "selection": {name: self.scope.selection[name] for name in ASKED if name in self.scope.selection},
            "streams": len(self.chains), **self.counts, "fault_count": self.fault_count, "faults": self.faults,
        }


def kept_note(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    return json.loads(text)["note"] if text.startswith("{") else text


def read_asked(texts):
    """What --expect names: the whole log, or members of a request with their values. None if it names nothing."""
    asked, whole = {}, False
    for text in texts:
        name, equals, value = text.partition("=")
        if text == "whole":
            whole = True
        elif name not in ASKED or not equals or not value:
            raise Unreadable(f"--expect {text}: write `whole`, or NAME=VALUE with one of {', '.join(sorted(ASKED))}")
        elif name in TIMES and moment(value) is None:
            raise Unreadable(f"--expect {text}: a time is written in UTC, such as 2026-11-20T15:04:05Z")
        elif name in asked:
            raise Unreadable(f"--expect {text}: it contradicts what was said before it")
        else:
            asked[name] = value
        if whole and asked.keys() - {"nonce"}:
            raise Unreadable(f"--expect {text}: it contradicts what was said before it")
    return asked if texts else None


COMPLETENESS = {
    "whole": "complete: every leaf of the tree is here",
    "chains": "complete for the chains that the first line names, up to where the log's signer says that they end; of "
              "what other chains tell about the same, some may be missing",
    "chains_without_end": "no entry is missing between the first and the last of a chain, but where the chains end is "
                          "not stated: an older version wrote this bundle",
    "not_shown": "a selection: every entry is genuine, but nothing shows that none was left out; the whole log would "
                 "show it",
}


def tell(report, unauthenticated):
    named = " ".join(f"{name}={value}" for name, value in report["selection"].items() if name != "nonce")
    print(f"log {report['origin']}, {report['size']} leaves; asked for: {named or 'the whole log'}")
    print(f"{report['entries']} entries, {report['in_tree']} of them shown to be in the signed tree, {report['proven']} "
          f"payloads and {report['frames_proven']} frames proven, {report['erased']} payloads erased")
    for fault in report["faults"]:
        print("BROKEN", ", ".join(f"{name} {value}" for name, value in fault.items() if value is not None))
    if report["fault_count"]:
        return print(f"{report['fault_count']} things in it do not fit.")
    print(COMPLETENESS[report["completeness"]])
    if report["keys"] == "given":
        return print("Everything in it holds.")
    print("It is self-consistent, and signed by nobody you named: anybody could have made it.")
    if not unauthenticated:
        print("Name the log's key (--key VKEY), or accept it as it is (--unauthenticated).")


def main():
    parser = argparse.ArgumentParser(description="Verifies an evidence bundle of cscp offline.")
    parser.add_argument("bundle", help="a file, or - for standard input")
    parser.add_argument("--key", action="append", default=[], metavar="VKEY", help="a key that signs for the log")
    parser.add_argument("--witness", action="append", default=[], metavar="VKEY",
                        help="a witness that must have cosigned the checkpoint")
    parser.add_argument("--kept", metavar="FILE", help="a checkpoint that you kept")
    parser.add_argument("--expect", action="append", default=[], metavar="SELECTION",
                        help="what it has to be of: `whole`, or NAME=VALUE as in the request")
    parser.add_argument("--unauthenticated", action="store_true",
                        help="accept a bundle that nobody you named has signed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.key and arguments.unauthenticated:
        parser.error("--key and --unauthenticated contradict each other")
    try:
        audit = Audit([Key(vkey) for vkey in arguments.key], kept_note(arguments.kept) if arguments.kept else None,
                      read_asked(arguments.expect), [Witness(vkey) for vkey in arguments.witness])
        source = sys.stdin.buffer if arguments.bundle == "-" else open(arguments.bundle, "rb")
        with source:
            for data in source:
                audit.line(data[:-1] if data.endswith(b"\n") else data)
    except (OSError, KeyError, ValueError, Unreadable) as error:
        print(f"cscp_verify.py: {error}", file=sys.stderr)
        return 2
    report = audit.finish()
    report["sound"] = report["sound"] and (report["keys"] == "given" or arguments.unauthenticated)
    if arguments.json:
        print(json.dumps(report))
    else:
        tell(report, arguments.unauthenticated)
    return 0 if report["sound"] else 1


if __name__ == "__main__":
    sys.exit(main())
