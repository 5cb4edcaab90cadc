"""Writes the types of the clients for TypeScript and Python anew, from schemas/cli/: python3 generate_types.py. Needs npx and uvx.

The hand-written part of each file ends at its line with MARK.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[2] / "schemas/cli"
MARK = "Generated from schemas/cli/ by generate_types.py."
# Neither generator has types for these.
UNTYPED = ("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxItems", "$schema", "$id")

FILES = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.json")}


def pascal(text):
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text) if word)


def singular(name):
    return re.sub(r"s$", "", name)


class Bundle:
    """One schema, whose definitions become types: what generators for one file need."""

    def __init__(self):
        self.types = {}

    def resolve(self, reference, file):
        name, _, pointer = reference.partition("#")
        node = FILES[name or file]
        for step in filter(None, pointer.split("/")):
            node = node[step]
        return name or file, node

    def convert(self, node, file, name):
        """A schema without references to other files. `name` is for objects without one."""
        if isinstance(node, list):
            return [self.convert(item, file, name) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: value for key, value in node.items() if key not in UNTYPED}
        if reference := node.pop("$ref", None):
            return self.refer(reference, node, file, name)
        if node.get("type") == "object" and node.get("properties"):
            node["title"] = name
        elif "title" in node:
            del node["title"]
        # Callers are to be told of members that do not exist, and readers to expect some.
        if node.get("additionalProperties") is False:
            del node["additionalProperties"]
        for key in ("items", "anyOf", "oneOf"):
            if key in node:
                node[key] = self.convert(node[key], file, singular(name))
        if "properties" in node:
            node["properties"] = {
                key: self.convert(value, file, name + pascal(key)) for key, value in node["properties"].items()
            }
        return node

    def refer(self, reference, node, file, name):
        """A definition becomes a type of its own; one that is extended is merged."""
        file_of, target = self.resolve(reference, file)
        if not set(node) - {"description"}:
            key = pascal(reference.rsplit("/", 1)[1])
            if key not in self.types:
                self.types[key] = None
                self.types[key] = self.convert(target, file_of, key)
            return {"$ref": f"#/$defs/{key}"}
        base, own = self.convert(target, file_of, name), self.convert(node, file, name)
        return base | own | {
            "title": name,
            "properties": base["properties"] | own.get("properties", {}),
            "required": sorted({*base.get("required", []), *own.get("required", [])}),
        }

    def document(self, method, name):
        """The result of a method, which is never the document of a failure, but says what `doctor`, `login` and `logout` found."""
        if method == "initialize":
            return self.convert(FILES["rpc.schema.json"]["$defs"]["interface"], "rpc.schema.json", name)
        # `login/methods` answers in the form of `login`, with the methods.
        file = f"{method.split('/')[0]}.schema.json"
        schema = dict(FILES[file])
        title = f"The answer to `{method}` over JSON-RPC" if "/" in method else "A result"
        result = next((form for form in schema.pop("anyOf", []) if form["title"] == title), {})
        document = self.convert(schema, file, pascal(method))
        document["title"] = name
        document["required"] = document["required"] + result.get("required", [])
        if method not in ("doctor", "login", "logout"):
            document["properties"].pop("error", None)
        return document

    def event(self, variant):
        constants = [variant["properties"][key].get("const", "") for key in ("event", "phase") if key in variant["properties"]]
        return self.convert(variant, "event.schema.json", pascal(" ".join(constants)) + "Event")


def bundle():
    made, methods = Bundle(), []
    for request in FILES["rpc.schema.json"]["$defs"]["request"]["anyOf"]:
        method, name = request["title"], pascal(request["title"])
        params = made.convert(request["properties"]["params"], "rpc.schema.json", f"{name}Params")
        params["title"] = f"{name}Params"
        made.types[f"{name}Params"] = params
        made.types[f"{name}Document"] = made.document(method, f"{name}Document")
        methods.append((method, name, bool(params.get("required"))))
    events = [made.event(variant) for variant in FILES["event.schema.json"]["oneOf"]]
    made.types |= {event["title"]: event for event in events}
    made.types["Event"] = {"anyOf": [{"$ref": f"#/$defs/{event['title']}"} for event in events]}
    data = FILES["rpc.schema.json"]["$defs"]["error"]["properties"]["error"]["properties"]["data"]
    made.types["ErrorData"] = made.convert(data, "rpc.schema.json", "ErrorData")
    return {"$defs": made.types, "title": "Bundle", "type": "object"}, methods


def typescript(schema, methods):
    script = """
        import { readFileSync } from 'node:fs';
        import { compile } from 'json-schema-to-typescript';
        const schema = JSON.parse(readFileSync(process.argv[2], 'utf8'));
        const style = { singleQuote: true, printWidth: 120 };
        const options = { unreachableDefinitions: true, bannerComment: '', additionalProperties: false, style };
        process.stdout.write(await compile(schema, 'Bundle', options));
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "schema.json").write_text(json.dumps(schema))
        (place / "generate.mjs").write_text(script)
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "json-schema-to-typescript@16.0.0"]
        subprocess.run(install, cwd=place, check=True, stdout=sys.stderr)
        generate = ["node", "generate.mjs", "schema.json"]
        text = subprocess.run(generate, cwd=place, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"export interface Bundle \{\}\n|\n? *\* This interface was referenced by [^/]*?(?=\n *\*/)", "", text)
    text = re.sub(r"/\*\*\n\s*\*? ?([^\n]*)\n(?:\s*\*\n)?\s*\*/", r"/** \1 */", text)
    text = re.sub(r"/\*\*\s*\*/\n", "", text)
    rows = [
        f"  {method if method.isalpha() else repr(method)}: [{name}Params, {name}Document];" for method, name, _ in methods
    ]
    table = "/** Parameters and result of each method. */\nexport interface Methods {\n" + "\n".join(rows) + "\n}\n"
    return f"// {MARK}\n\n{table}\n{text.strip()}\n"


def python(schema, methods):
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "schema.json", Path(folder) / "out.py"
        source.write_text(json.dumps(schema))
        generator = "datamodel-code-generator==0.89.0"
        command = [
            "uvx", "--from", generator, "datamodel-codegen", "--input", source, "--input-file-type", "jsonschema",
            "--output", out, "--output-model-type", "typing.TypedDict", "--target-python-version", "3.11",
            "--enum-field-as-literal", "all", "--use-title-as-name", "--use-schema-description", "--disable-timestamp",
        ]
        subprocess.run(command, check=True, capture_output=True)
        text = out.read_text()
    text = text[text.index("class ") :]
    text = re.sub(r"class Bundle\(TypedDict\):\n    pass\n+", "", text)
    overloads = []
    for verb, result in (("begin", "Call[{}]"), ("request", "{}")):
        for method, name, is_required in methods:
            params = f"params: {name}Params" + ("" if is_required else " | None = None")
            overloads.append(
                f"    @overload\n    def {verb}(\n        self, method: Literal[{json.dumps(method)}], {params}, "
                f"on_event: Callable[[Event], object] | None = None\n    ) -> {result.format(name + 'Document')}: ..."
            )
    requests = "class _Requests:\n" + "\n".join(overloads) + "\n"
    return f"# {MARK}\n\n{text.strip()}\n\n\n{requests}"


def replace(path, comment, generated):
    head = path.read_text(encoding="utf-8").partition(f"{comment} {MARK}")[0]
    path.write_text(head + generated, encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    schema, methods = bundle()
    replace(folder / "typescript/acp-registry.d.mts", "//", typescript(schema, methods))
    replace(folder / "python/acp_registry.pyi", "#", python(schema, methods))
