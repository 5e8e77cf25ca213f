// Makes the types of the API from api/openapi.yaml: with --check it says whether the committed ones are those.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../../api/openapi.yaml", import.meta.url);
const target = new URL("../src/api/schema.d.ts", import.meta.url);
const made = `// Made by \`npm run api\` from api/openapi.yaml. Do not edit.\n${astToString(await openapiTS(source))}`;
if (!process.argv.includes("--check")) writeFileSync(target, made);
else if (readFileSync(target, "utf8") !== made) {
  console.error("console/web/src/api/schema.d.ts is not what api/openapi.yaml makes: run `npm run api` in console/web");
  process.exit(1);
}
