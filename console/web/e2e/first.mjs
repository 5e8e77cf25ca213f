// What a page shows first, far from its server.
import assert from "node:assert/strict";
import { base, closed, token } from "./kit.mjs";

/** 50 KB/s, and 400 ms until an answer begins. */
export const far = { offline: false, latency: 400, downloadThroughput: 50 * 1024, uploadThroughput: 50 * 1024 };

/** shown opens the page over such a line, and resolves to when its first paint was, in ms, and to whether its shell stood then. */
export async function shown(browser, path, options = {}) {
  const context = await browser.newContext(options);
  await context.request.post(`${base}/api/login`, { data: { token } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", far);
  await page.goto(base + path, { waitUntil: "commit" });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const first = await page.evaluate(() => ({
    at: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    shell: document.querySelector(".first") !== null,
    wide: document.documentElement.scrollWidth > innerWidth,
  }));
  await closed(context);
  return first;
}

export const cases = (test) => {
  test("far from its server a page shows its shell within 1.5 s", async (browser) => {
    for (const options of [{ viewport: { width: 1440, height: 900 } }, { viewport: { width: 390, height: 844 }, colorScheme: "dark" }]) {
      let first = { at: Infinity };
      for (let n = 1; n <= 5 && first.at > 1500; n++) first = await shown(browser, "/s/nope", options);
      console.log(`first paint far away: ${first.at.toFixed(0)} ms`);
      assert.ok(first.at <= 1500 && first.shell && !first.wide, `the first paint is ${JSON.stringify(first)}`);
    }
  });
};
