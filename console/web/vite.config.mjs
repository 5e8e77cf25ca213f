import { defineConfig } from "vite";
import react from "@vitejs/plugin-react";

// Everything is relative to the <base> the server writes, so that the console can stand below any path. "./" in the
// page means that.
export default defineConfig({
  base: "./",
  plugins: [react(), { name: "base", apply: "serve", transformIndexHtml: (html) => html.replace("<head>", '<head><base href="/">') }],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/api": { target: process.env.HARNESS_URL ?? "http://127.0.0.1:3001", ws: true } } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
