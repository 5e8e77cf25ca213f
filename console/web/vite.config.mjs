import { defineConfig } from "vite";

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

/** The sources and their libraries are written for React. Preact runs them, at a tenth of its size. */
const alias = {
  "react/jsx-runtime": "preact/jsx-runtime", "react/jsx-dev-runtime": "preact/jsx-runtime", react: "preact/compat", "react-dom": "preact/compat",
  "use-sync-external-store/shim/index.js": "preact/compat",
};

export default defineConfig({
  base: "./",
  resolve: { alias },
  plugins: [late, { name: "base", apply: "serve", transformIndexHtml: (html) => html.replace("<head>", '<head><base href="/">') }],
  build: {
    target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false },
    // What every page needs is one file, whatever the pages that are loaded later share with it: it compresses better so.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "index", tags: ["$initial"] }] } } },
  },
  server: { proxy: { "/api": { target: process.env.HARNESS_URL ?? "http://127.0.0.1:3001", ws: true } } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
