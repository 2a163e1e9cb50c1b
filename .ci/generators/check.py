"""Holds generated clients against the contract they come from: check.py OPENAPI FOLDER.

Imports every module, plays the contract's examples through both Python clients, and looks at the names that the
generators gave in either language.
"""

import importlib
import json
import pkgutil
import re
import sys
from pathlib import Path

import yaml

contract = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
folder = Path(sys.argv[2]).resolve()
sys.path.insert(0, str(folder))
faults = []

import cscp_client  # noqa: E402
import models  # noqa: E402

modules = [module.name for module in pkgutil.walk_packages(cscp_client.__path__, "cscp_client.")]
for name in modules:
    importlib.import_module(name)


def examples():
    """The name of a schema with an example of it, for every body that has one."""
    for methods in contract["paths"].values():
        for operation in methods.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                yield media["schema"]["$ref"].rsplit("/", 1)[1], media["example"]


def same(name, example, taken):
    # One instant, written in another way.
    if json.loads(json.dumps(taken).replace('+00:00"', 'Z"')) != example:
        faults.append(f"{name}: the client makes {taken!r} of {example!r}")


played = 0
for name, example in examples():
    typed = getattr(models, name).model_validate(example)
    same(name, example, typed.model_dump(mode="json", exclude_unset=True, by_alias=True))
    made = getattr(cscp_client.models, name, None)
    if made is None:
        faults.append(f"{name}: no model of that name in cscp_client")
    else:
        same(name, example, made.from_dict(example).to_dict())
    played += 1

# Where a schema has no name, a generator makes one up, and where that is taken it adds a number.
declared = {name for kind in contract["components"].values() for name in kind}
written = {
    "openapi-python-client": (folder.glob("cscp_client/models/*.py"), r"^class (\w+)"),
    "datamodel-code-generator": ([folder / "models.py"], r"^(?:class )?(\w+)(?: = |\()"),
    "@hey-api/openapi-ts": (folder.glob("sdk/*.gen.ts"), r"^export (?:type|const|enum|interface) (\w+)"),
    "openapi-typescript": ([folder / "schema.d.ts"], r"^(?:export (?:type|interface|enum)|        ) ?(\w+)\b"),
}
for generator, (files, pattern) in written.items():
    names = {name for file in files for name in re.findall(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)}
    if len(names) < 100:
        faults.append(f"{generator}: only {len(names)} names were found, so this check looks in the wrong place")
    for name in sorted(names - declared):
        if re.search(r"\d", name):
            faults.append(f"{generator}: {name} has a number that no component has: give the schema a name")

print(f"clients: {len(modules)} modules, {played} examples through two clients, {len(declared)} names")
if faults:
    sys.exit("\n".join(["clients: the contract and its clients do not fit:", *faults]))
