// Builds into the folder it is given, and compresses what was built, once and as well as it goes, so that the server only
// chooses.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const outDir = resolve(process.argv[2] ?? "../dist/app");
await build({ build: { outDir, emptyOutDir: true }, logLevel: "warn" });
for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name === "index.html" || !/\.(js|css|svg|webmanifest)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const body = readFileSync(path);
  writeFileSync(path + ".gz", gzipSync(body, { level: 9 }));
  writeFileSync(path + ".br", brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }));
}
