// Bundles page.mjs into the folder page. The parts that it loads on demand stay files of their own.
import { build } from "esbuild";

await build({
  entryPoints: ["page.mjs"],
  outdir: "page",
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  loader: { ".css": "empty" },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "error",
});
