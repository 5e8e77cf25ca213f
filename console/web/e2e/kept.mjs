// What a browser keeps of the page itself: the files of one build, for a server that is slow or away.
import assert from "node:assert/strict";
import { base, enter, eventually, finished, live, newSession, open, order, token } from "./kit.mjs";
import { far } from "./first.mjs";

/** keeps are the addresses of all that the browser keeps, and which of the pages are whole. */
const keeps = (page) => page.evaluate(async () => {
  const names = await caches.keys();
  const urls = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map((request) => request.url)));
  return { builds: urls.filter((of) => of.includes(document.baseURI)).length, urls: urls.flat() };
});
const kept = (page, builds = 1) => eventually("the page is kept", async () => (await keeps(page)).builds === builds);
/** loaded are the files of the page that is shown, and how many bytes of them came over the line. */
const loaded = (page) => page.evaluate(() => {
  const parts = performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname.includes("/assets/"));
  return { names: parts.map(({ name }) => new URL(name).pathname.replace(/^.*assets\//, "")), bytes: parts.reduce((sum, { transferSize }) => sum + transferSize, 0) };
});

export const cases = (test) => {
  // CO-27 CO-29
  test("a page that was opened once opens from the browser: soon from afar, and while the server is away", async (browser) => {
    const id = await newSession("Kept");
    const { page, context, trouble, close } = await open(browser, `/s/${id}`, { serviceWorkers: "allow" });
    await live(page);
    await enter(page, "MOCK_SLOW[2,10]");
    await finished(page);
    await kept(page);
    const cdp = await context.newCDPSession(page);
    await cdp.send("Network.enable");
    await cdp.send("Network.emulateNetworkConditions", far);
    let first = Infinity;
    for (let n = 1; n <= 5 && first > 1500; n++) {
      await page.reload({ waitUntil: "commit" });
      await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      first = Math.min(first, await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
      await finished(page);
    }
    console.log(`first paint of a kept page far away: ${first.toFixed(0)} ms`);
    assert.ok(first <= 1500, `${first} ms`);
    assert.equal((await loaded(page)).bytes, 0, "its files came over the line");
    await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });

    await order("kill");
    const other = await page.goto(`${base}/decide/nothing`);
    assert.equal(other.status(), 502, "a page of the console stands in place of another one");
    await page.goto(`${base}/s/${id}`);
    await page.getByText("Can’t reach the server.").waitFor();
    await order("start");
    await page.getByRole("button", { name: "Try now" }).click();
    await live(page);
    await finished(page);
    assert.equal(await page.getByText("Can’t reach the server.").count(), 0);

    const { urls } = await keeps(page);
    assert.deepEqual(urls.filter((url) => url !== `${base}/` && !/\/(assets\/[\w-]+\.(js|css)|first\.css\?[0-9a-f]+)$/.test(url)), [], "what is kept is not of the page alone");
    await page.goto(`${base}/settings`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    assert.deepEqual((await keeps(page)).urls, [], "kept after a logout");
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await live(page);
    await kept(page);
    assert.deepEqual(trouble, []);
    await close();
  });

  // CO-28
  test("a new build is the one of the next page, and an open page keeps to its own", async (browser) => {
    const { page: old, context, trouble, close } = await open(browser, "/", { serviceWorkers: "allow" });
    await live(old);
    await kept(old);
    await order("build", { new: "yes" });
    const page = await context.newPage();
    await page.goto(`${base}/inbox`);
    await live(page);
    await kept(page, 2);
    const [before, after] = [await loaded(old), await loaded(page)];
    assert.ok(before.names.length > 1 && after.names.length > 1, JSON.stringify([before, after]));
    assert.deepEqual(after.names.filter((name) => before.names.includes(name)), [], "two builds in one page");
    await old.getByRole("link", { name: "Manage", exact: true }).click(); // its file is at the server no more
    await old.getByRole("heading", { name: "Usage", exact: true }).waitFor();
    await order("kill");
    await old.reload();
    await old.getByText("Can’t reach the server.").waitFor();
    const shown = (await loaded(old)).names;
    assert.ok(shown.length > 0 && shown.every((name) => !before.names.includes(name)), `of the build before: ${shown}`);
    await order("start");
    await live(old);
    await order("build");
    assert.deepEqual(trouble, []);
    await close();
  });
};
