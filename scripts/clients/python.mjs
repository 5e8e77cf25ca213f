// Writes the types of the task API as Python: node python.mjs OPENAPI.yaml OUT.py
import { readFile, writeFile } from "node:fs/promises";
import { InputData, JSONSchemaInput, quicktype } from "quicktype-core";
import { parse } from "yaml";

const [from, to] = process.argv.slice(2);
const document = parse(await readFile(from, "utf8"));
// Times stay texts: to read them Python would need a package beside its own.
const plain = (key, value) => (key === "format" && value === "date-time" ? undefined : value);
const definitions = JSON.parse(
  JSON.stringify(document.components.schemas, plain).replaceAll("#/components/schemas/", "#/definitions/"),
);
const input = new JSONSchemaInput(undefined);
for (const name of Object.keys(definitions).filter((name) => name.startsWith("Task"))) {
  await input.addSource({ name, schema: JSON.stringify({ $ref: `#/definitions/${name}`, definitions }) });
}
const inputData = new InputData();
inputData.addInput(input);
const made = await quicktype({ inputData, lang: "python", rendererOptions: { "python-version": "3.7" } });
await writeFile(to, made.lines.join("\n") + "\n");
