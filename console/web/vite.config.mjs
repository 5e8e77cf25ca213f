import { defineConfig } from "vite";
import react from "@vitejs/plugin-react";

// Everything is relative to the <base> the server writes, so that the console can stand below any path. "./" in the
// page means that.
/** late puts the page's styles behind the shell of index.html, which is drawn without them; the program still waits for them. */
const late = {
  name: "late", apply: "build",
  transformIndexHtml: { order: "post", handler: (html) => {
    const styles = html.match(/ *<link rel="stylesheet"[^>]*href="\.\/assets\/[^>]*>\n?/g) ?? [];
    return styles.reduce((page, one) => page.replace(one, "").replace("<noscript>", one.trim() + "\n<noscript>"), html);
  } },
};

export default defineConfig({
  base: "./",
  plugins: [react(), late, { name: "base", apply: "serve", transformIndexHtml: (html) => html.replace("<head>", '<head><base href="/">') }],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/api": { target: process.env.HARNESS_URL ?? "http://127.0.0.1:3001", ws: true } } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
