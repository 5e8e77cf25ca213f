// Makes the types of the API from api/openapi.yaml: with --check it says whether those in the folder are current.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../../api/openapi.yaml", import.meta.url);
const target = new URL("../src/api/schema.d.ts", import.meta.url);
const made = `// Made by \`npm run api\` from api/openapi.yaml. Do not edit.\n${astToString(await openapiTS(source))}`;
const current = existsSync(target) && readFileSync(target, "utf8") === made;
if (!current && process.argv.includes("--check")) {
  console.error("console/web/src/api/schema.d.ts is not what api/openapi.yaml makes: run scripts/console.sh");
  process.exit(1);
}
if (!current) writeFileSync(target, made);
