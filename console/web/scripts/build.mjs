// Builds into the folder it is given, and compresses what was built, once and as well as it goes, so that the server only
// chooses. The worker gets the names of all files that it keeps.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const outDir = resolve(process.argv[2] ?? "../dist/app");
await build({ build: { outDir, emptyOutDir: true }, logLevel: "warn" });
const hash = (...texts) => texts.reduce((made, text) => made.update(text), createHash("sha256")).digest("hex").slice(0, 12);
const edit = (name, from, to) => {
  const [before, after] = [readFileSync(join(outDir, name), "utf8"), (text) => text.replace(from, () => to)];
  if (after(before) === before) throw new Error(`${name} has no ${from}`);
  writeFileSync(join(outDir, name), after(before));
};
// It has no version in its name, since it is linked before what is built.
const first = `first.css?${hash(readFileSync(join(outDir, "first.css")))}`;
edit("index.html", "./first.css", `./${first}`);
const files = [first, ...readdirSync(join(outDir, "assets")).map((name) => `assets/${name}`)];
edit("sw.js", '["", []]', JSON.stringify([hash(readFileSync(join(outDir, "index.html")), ...files), files]));
for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name === "index.html" || !/\.(js|css|svg|webmanifest)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const body = readFileSync(path);
  writeFileSync(path + ".gz", gzipSync(body, { level: 9 }));
  writeFileSync(path + ".br", brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }));
}
