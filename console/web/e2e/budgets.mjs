// What the page may cost. Script counts as CPU time of its thread, and the least of some tries: what else the machine does
// can only add to it.
import assert from "node:assert/strict";
import { base, eventually, live, newSession, open, pill, send } from "./kit.mjs";
import { fill } from "./talk.mjs";

async function measured(page, context) {
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const metric = async (name) => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === name).value;
  return {
    script: async () => (await metric("ScriptDuration")) * 1000,
    heap: async () => {
      await cdp.send("HeapProfiler.collectGarbage");
      return (await metric("JSHeapUsedSize")) / 1e6;
    },
  };
}

export const cases = (test) => {
  test("a streamed piece of text costs little script, however long the history", async (browser) => {
    const [short, long] = [await newSession("Short"), await newSession("Long")];
    await fill(long, 2000);
    const costs = [];
    for (const id of [short, long]) {
      const { page, context, close } = await open(browser, `/s/${id}`);
      await live(page);
      const { script } = await measured(page, context);
      let least = Infinity;
      for (let n = 1; n <= 3 && least > 1; n++) {
        const before = await script();
        await send(id, "MOCK_SLOW[300,10]");
        await page.locator('.entry.assistant[data-status="streaming"]').waitFor();
        await pill(page, "idle");
        least = Math.min(least, ((await script()) - before) / 300);
      }
      costs.push(least);
      await close();
    }
    console.log(`script per delta: ${costs.map((c) => c.toFixed(2)).join(" and ")} ms`);
    assert.ok(costs[0] <= 1 && costs[1] <= 1, `script per delta: ${costs} ms`);
  });

  test("of 100,000 entries the page has few elements and little heap, wherever one looks", async (browser) => {
    const id = await newSession("A hundred thousand");
    await fill(id, 100_000);
    const { page, context, close } = await open(browser, `/s/${id}`);
    await page.locator('[data-id="e-99999"]').waitFor();
    const { heap } = await measured(page, context);
    const box = page.locator(".transcript .scroll");
    await box.hover();
    let most = 0;
    await eventually("thousands of entries were scrolled through", async () => {
      await page.mouse.wheel(0, -30_000);
      most = Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length));
      const first = await page.locator("[data-id]").first().getAttribute("data-id");
      return Number(first.slice(2)) < 96_500;
    });
    await page.goto(`${base}/s/${id}?at=e-50000`);
    await page.locator('[data-id="e-50000"][data-marked]').waitFor();
    most = Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length));
    const used = await heap();
    console.log(`at most ${most} elements, ${used.toFixed(1)} MB of heap`);
    assert.ok(most <= 1500, `${most} elements`);
    assert.ok(used <= 40, `${used} MB`);
    await close();
  });

  test("the first load is small", async (browser) => {
    const sizes = { js: 0, css: 0 };
    const { page, context, close } = await open(browser, "/settings");
    const cdp = await context.newCDPSession(page);
    await cdp.send("Network.enable");
    await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
    const kinds = new Map();
    cdp.on("Network.responseReceived", ({ requestId, response }) => kinds.set(requestId, /\.(js|css)$/.exec(new URL(response.url).pathname)?.[1]));
    cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const kind = kinds.get(requestId);
      if (kind) sizes[kind] += encodedDataLength / 1024;
    });
    await page.route("**/*", (route) => route.continue({ headers: { ...route.request().headers(), "accept-encoding": "gzip" } }));
    await page.reload();
    await live(page);
    console.log(`first load: ${sizes.js.toFixed(0)} KB of script, ${sizes.css.toFixed(1)} KB of style`);
    assert.ok(sizes.js > 20 && sizes.js <= 160, `${sizes.js} KB of script`);
    assert.ok(sizes.css > 1 && sizes.css <= 15, `${sizes.css} KB of style`);
    await close();
  });
};
