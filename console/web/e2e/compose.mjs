// What a message goes out with, and what a message is good for afterwards.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { aims, api, base, enter, eventually, finished, live, menu, newSession, open, order, pill, said, send, transcript } from "./kit.mjs";

const session = async (id) => (await api("GET", `/api/sessions/${id}?limit=1`)).session;
const idle = (id) => eventually("the turn is over", async () => (await session(id)).state === "idle" && (await transcript(id)).some((e) => e.role === "assistant"));
const users = async (id) => (await transcript(id)).filter((e) => e.role === "user").map((e) => e.content);

/** turns has a session with some answers. */
async function turns(...answers) {
  const id = await newSession(`With ${answers.length} turns`);
  for (const answer of answers) {
    const before = (await transcript(id)).length;
    await send(id, `MOCK_REPLY[${answer}]`);
    await eventually("it answers", async () => (await transcript(id)).length > before + 1 && (await session(id)).state === "idle");
  }
  return id;
}

/** presets are the levels each word for access stands for. */
const presets = {
  "Read only": ["read-only", "untrusted", "restricted"], "Edit freely": ["workspace-write", "on-request", "restricted"],
  "Ask first": ["workspace-write", "untrusted", "restricted"], "Full access": ["danger-full-access", "never", "enabled"],
};

export const cases = (test) => {
  test("messages wait on the server for the turn's end, edited and in another order, also over a reload", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    const waiting = page.getByRole("list", { name: "Queued messages" });
    let answer;
    const entered = new Promise((next) => (answer = next));
    await page.route("**/messages", async (route) => { // the answer to the first takes until all others were entered
      const response = await route.fetch();
      await entered;
      await route.fulfill({ response });
    });
    await enter(page, "MOCK_HOLD[queued]");
    for (const word of ["one", "two", "three"]) await enter(page, `MOCK_REPLY[${word}]`);
    answer();
    await pill(page, "running");
    await eventually("all wait, in order", async () => (await waiting.locator(".said").allInnerTexts()).join() === ["one", "two", "three"].map((word) => `MOCK_REPLY[${word}]`).join());
    const row = (word) => waiting.getByRole("listitem").filter({ hasText: word });
    await row("two").getByRole("button", { name: "Move up" }).click();
    await row("three").getByRole("button", { name: "Remove" }).click();
    await row("one").getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Queued message", { exact: true }).fill("MOCK_REPLY[uno]");
    await waiting.getByRole("button", { name: "Save" }).click();
    const shown = () => waiting.locator(".said").allInnerTexts();
    await eventually("it is as edited", async () => (await shown()).join() === "MOCK_REPLY[two],MOCK_REPLY[uno]");
    await page.reload();
    await eventually("it is kept", async () => (await shown()).join() === "MOCK_REPLY[two],MOCK_REPLY[uno]");
    await order("release", { name: "queued" });
    await eventually("all were sent", async () => (await users(id)).join() === "MOCK_HOLD[queued],MOCK_REPLY[two],MOCK_REPLY[uno]");
    await waiting.waitFor({ state: "detached" });
    assert.equal(new Set((await transcript(id)).map((e) => e.turnId)).size, 3);
    await close();
  }, { core: true });

  test("a waiting message is sent now, by keyboard: into the running turn", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await enter(page, "MOCK_HOLD[overtaken]");
    await pill(page, "running");
    const waiting = page.getByRole("list", { name: "Queued messages" });
    for (const said of ["MOCK_REPLY[first]", "MOCK_HOLD[overtaking]"]) { // the agent reads what is steered at once
      await enter(page, said);
      await waiting.getByText(said).waitFor();
    }
    const now = waiting.getByRole("listitem").filter({ hasText: "overtaking" }).getByRole("button", { name: "Send now" });
    await now.focus();
    await page.keyboard.press("Enter");
    await eventually("the other one waits", async () => (await waiting.locator(".said").allInnerTexts()).join() === "MOCK_REPLY[first]");
    await eventually("the agent got both messages", async () => (await users(id)).join() === "MOCK_HOLD[overtaken],MOCK_HOLD[overtaking]");
    for (const name of ["overtaken", "overtaking"]) await order("release", { name });
    await eventually("both were sent", async () => (await users(id)).join() === "MOCK_HOLD[overtaken],MOCK_HOLD[overtaking],MOCK_REPLY[first]");
    await waiting.waitFor({ state: "detached" });
    assert.equal(new Set((await transcript(id)).map((e) => e.turnId)).size, 2);
    await close();
  }, { core: true });

  // CO-52
  test("what turns run with is picked and holds; a level the runtime lacks is not offered", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    const chip = page.getByRole("button", { name: /^Agent, model, access:/ });
    await chip.getByText("Ask first").waitFor();
    await chip.click();
    let asked;
    await page.route("**/session-controls", (route) => { asked = route.request().postDataJSON() ?? asked; return route.continue(); });
    for (const [preset, levels] of Object.entries(presets)) {
      await page.getByRole("radio", { name: new RegExp(`^${preset}`) }).click();
      await chip.getByText(preset).waitFor();
      const { approvalPolicy, filesystemSandbox, networkAccess } = asked.controls;
      assert.deepEqual([filesystemSandbox, approvalPolicy, networkAccess], levels);
    }
    assert.ok(await page.getByRole("switch", { name: "Network" }).isDisabled(), "nothing restricts the network without a sandbox");
    await page.getByRole("button", { name: "Custom rules…" }).click();
    const sandbox = page.getByLabel("File access");
    await sandbox.selectOption("read-only");
    await eventually("the server has it", async () => (await session(id)).sessionControls.filesystemSandbox === "read-only");
    await chip.getByText("Custom").waitFor();
    const model = page.getByLabel("Model", { exact: true });
    await model.locator("option").nth(1).waitFor({ state: "attached" });
    const wanted = await model.locator("option").nth(1).getAttribute("value");
    await model.selectOption(wanted);
    await eventually("the server has the model", async () => (await session(id)).sessionControls.model === wanted);
    const { capabilities } = await api("GET", `/api/sessions/${id}?limit=1`);
    const values = (select) => select.locator("option").evaluateAll((all) => all.map((one) => one.value));
    assert.deepEqual(await values(sandbox), capabilities.sandboxes);
    assert.deepEqual(await values(page.getByLabel("Approvals")), capabilities.approvalPolicies.filter((policy) => policy !== "on-failure"));
    // Another user's change shows after the page is opened again.
    const controls = (await session(id)).sessionControls;
    await api("POST", `/api/sessions/${id}/session-controls`, { scope: "session", controls: { ...controls, approvalPolicy: "never" } });
    await page.evaluate(() => dispatchEvent(new Event("focus"))); // as one who comes back to the window
    await eventually("the page shows it", async () => (await page.getByLabel("Approvals").inputValue()) === "never");
    await page.keyboard.press("Escape");
    assert.ok(await chip.evaluate((el) => el === document.activeElement), "the focus is back at what opened it");
    await page.getByRole("tab", { name: "Context" }).click();
    await page.locator(".panel").getByRole("button", { name: "Use for new sessions" }).waitFor();
    await close();
  });

  test("what a session used stands beside its transcript, after a reload, too", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}?panel=context`);
    await live(page);
    await enter(page, "MOCK_REPLY[used]");
    await finished(page);
    const used = () => page.getByRole("complementary", { name: "Session details" }).getByText(/ of [\d,]+ tokens/).innerText();
    const before = await used();
    assert.match(before, /^[1-9]/);
    await page.reload();
    assert.equal(await used(), before);
    await close();
  });

  test("a picture goes with a message where the runtime takes pictures", async (browser) => {
    const id = await newSession();
    const { page, trouble, close } = await open(browser, `/s/${id}`);
    await live(page);
    const field = page.getByLabel("Message");
    await page.route("**/uploads*", (route) => route.fulfill({ status: 413, json: { status: "error", code: "invalid_request", message: "Has too many bytes" } }));
    // Pasted as a browser does it: a file of more than a body of JSON may have.
    const paste = () => field.evaluate(async (el) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [900, 700];
      const context = canvas.getContext("2d");
      const data = context.createImageData(900, 700);
      for (let i = 0; i < data.data.length; i++) data.data[i] = i % 4 === 3 ? 255 : (i * 2654435761) >>> 24;
      context.putImageData(data, 0, 0);
      const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
      const pasted = new DataTransfer();
      pasted.items.add(new File([blob], "screen.png", { type: "image/png" }));
      el.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true, cancelable: true }));
    });
    await page.getByRole("button", { name: "Attach an image" }).waitFor(); // until then it is not known to take pictures
    await paste();
    const picture = page.getByRole("list", { name: "Attached images" }).getByRole("listitem");
    await picture.getByText("Has too many bytes").waitFor(); // as the server said the first time
    await picture.getByRole("button", { name: "Remove screen.png" }).click();
    await page.unroute("**/uploads*");
    await paste();
    await picture.locator("img").waitFor();
    let body = null;
    await page.route("**/messages", (route) => {
      body = route.request().postDataJSON();
      return route.continue();
    });
    await field.fill("MOCK_REPLY[seen]");
    await field.press("Enter");
    await finished(page);
    assert.equal(await picture.count(), 0);
    assert.match(body.images[0], /^upload:/);
    const thumbnail = page.locator(".entry.user .pictures img");
    const drawn = () => thumbnail.evaluate((img) => img.complete && img.naturalWidth > 0);
    await eventually("the picture is shown as it is sent", drawn);
    await page.reload();
    await live(page);
    await eventually("the picture is shown after a reload", drawn);
    // CO-30
    assert.equal(await thumbnail.getAttribute("alt"), "screen.png");
    assert.deepEqual(await thumbnail.evaluate((img) => [img.naturalWidth, img.naturalHeight]), [288, 224]);
    const size = await thumbnail.boundingBox();
    assert.ok(size.width <= 200 && size.height <= 112, JSON.stringify(size));
    await thumbnail.click();
    const whole = page.getByRole("dialog", { name: "screen.png" }).getByRole("img");
    await eventually("it opens whole", () => whole.evaluate((img) => img.naturalWidth === 900));
    await page.keyboard.press("Escape");
    await whole.waitFor({ state: "detached" });
    assert.equal(await page.locator(".entry.user .said").innerText(), "MOCK_REPLY[seen]");
    assert.deepEqual(trouble, []);
    await close();
  });

  // CO-33
  test("an @ offers the files of the folder; typing goes on all the same", async (browser) => {
    const id = await newSession("Mentions");
    const { cwd } = (await api("GET", `/api/sessions/${id}?limit=1`)).session;
    mkdirSync(`${cwd}/mentioned`, { recursive: true });
    for (const name of ["mentioned.txt", "mentioned/inner.txt", ".env"]) writeFileSync(`${cwd}/${name}`, "x");
    const { page, trouble, close } = await open(browser, `/s/${id}`);
    await live(page);
    const field = page.getByLabel("Message", { exact: true });
    const offered = page.getByRole("listbox", { name: "Mention a file" }).getByRole("option");
    await page.getByRole("button", { name: "Mention a file" }).click();
    await offered.first().waitFor();
    assert.equal(await offered.getByText(".env").count(), 0, "a secret is offered");
    await page.keyboard.type("mentioned.");
    await eventually("one fits", async () => (await offered.count()) === 1);
    await page.keyboard.press("Tab");
    assert.equal(await field.inputValue(), "@mentioned.txt ");
    await page.keyboard.type("and @mentioned");
    await offered.nth(1).waitFor();
    await page.keyboard.press("ArrowDown"); // folders come first
    await page.keyboard.press("Enter");
    await offered.getByText("mentioned/inner.txt").click();
    assert.equal(await field.inputValue(), "@mentioned.txt and @mentioned/inner.txt ");
    await page.keyboard.type("@ment");
    await offered.first().waitFor();
    await page.keyboard.press("Escape");
    await offered.first().waitFor({ state: "detached" });
    await page.keyboard.type("ion");
    await offered.first().waitFor();
    await page.keyboard.press("Enter"); // nothing was chosen: it sends
    await eventually("it is sent as it was typed", async () => (await transcript(id)).some((m) => JSON.stringify(m).includes("@mentioned.txt and @mentioned/inner.txt @mention")));
    assert.deepEqual(trouble, []);
    await close();
  }, { core: true });

  test("an unacknowledged message is accepted once, also after a reload", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await page.route("**/messages", async (route) => { // the server accepts it, and its answer is lost
      await route.fetch();
      await route.abort();
    });
    const field = page.getByLabel("Message");
    await field.fill("MOCK_REPLY[once]");
    await field.press("Enter");
    await page.getByRole("list", { name: "Messages not sent yet" }).getByText("MOCK_REPLY[once]").waitFor();
    await page.unroute("**/messages");
    await page.reload();
    await live(page);
    await eventually("the draft is there", async () => (await field.inputValue()) === "MOCK_REPLY[once]");
    await field.press("Enter");
    await eventually("it was sent again", async () => (await field.inputValue()) === "" && (await page.locator(".unsent").count()) === 0);
    await idle(id);
    assert.deepEqual(await users(id), ["MOCK_REPLY[once]"]);
    await close();
  }, { core: true });

  test("roll back to a message: its turn is gone, its text is in the field", async (browser) => {
    const id = await turns("first", "second");
    const { page, close } = await open(browser, `/s/${id}`);
    await finished(page, 2);
    await menu(page, page.locator(".entry.user").nth(1), "Restore to before this turn…");
    await page.getByText("Removes the last turn").waitFor();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await eventually("the turn has left the page", async () => (await said(page)).join() === "first");
    assert.deepEqual(await users(id), ["MOCK_REPLY[first]"]);
    assert.equal(await page.getByLabel("Message").inputValue(), "MOCK_REPLY[second]");
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await eventually("the turn is back", async () => (await said(page)).join() === "first,second");
    await close();
  });

  test("fork from a message: another session goes on from there, this one stays", async (browser) => {
    const id = await turns("first", "second");
    const { page, close } = await open(browser, `/s/${id}`);
    await finished(page, 2);
    await menu(page, page.locator(".entry.assistant").first(), "Fork from here…");
    await page.getByRole("dialog").getByRole("button", { name: "Fork", exact: true }).click();
    await page.waitForURL((url) => url.pathname.includes("/s/") && !url.pathname.includes(id));
    await eventually("it has what was said until there", async () => (await said(page)).join() === "first");
    assert.equal((await users(id)).length, 2);
    await close();
  });

  test("a link to a message opens there, however far it is from the end", async (browser) => {
    const id = await newSession();
    const entries = Array.from({ length: 500 }, (_, i) => ({ messageId: `e-${i}`, turnId: "ci", role: "assistant", type: "agentMessage", content: `Entry ${i}`, status: "complete" }));
    await api("POST", `/api/sessions/${id}/transcript/upserts`, { entries });
    const { page, context, close } = await open(browser, `/s/${id}?at=e-40`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator('[data-id="e-40"][data-marked]').waitFor();
    await eventually("it is on the screen", () => page.locator('[data-id="e-40"]').evaluate((el) => {
      const { top, bottom } = el.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }));
    await page.locator('[data-id="e-40"]').getByRole("button", { name: "Copy link" }).click();
    await page.locator('[data-id="e-40"]').getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/s/${id}?at=e-40`);
    await page.getByRole("button", { name: /Jump to latest|\d new$/ }).click();
    await page.locator('[data-id="e-499"]').waitFor();
    await page.goto(`${base}/s/${id}?at=gone`);
    await page.locator(".notice").waitFor(); // which says so, and the newest entries are there
    await page.locator('[data-id="e-499"]').waitFor();
    // Who wants the newest entries at once is not taken back to the link's.
    await page.addInitScript(() => new MutationObserver((_, observer) => {
      if (!document.querySelector('[data-id="e-40"][data-marked]')) return;
      observer.disconnect();
      document.querySelector("button.follow").click();
    }).observe(document, { subtree: true, childList: true, attributes: true }));
    await page.goto(`${base}/s/${id}?at=e-40`);
    await page.locator('[data-id="e-499"]').waitFor();
    await close();
  });

  test("the clock of a turn goes on over a reload, a diff is shown side by side", async (browser) => {
    const id = await newSession();
    const item = { type: "fileChange", id: "d", changes: [{ path: "a.txt", kind: { type: "update" }, diff: "@@ -1,2 +1,2 @@\n same\n-old\n+new\n" }] };
    await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: "d", turnId: "ci", role: "system", type: "fileChange", content: "1 change", status: "complete", details: JSON.stringify(item) });
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await page.getByRole("button", { name: "Side by side" }).click();
    assert.deepEqual(await page.locator('[data-id="d"] .pair').nth(1).locator(".line").allInnerTexts(), ["old", "new"]);
    await send(id, "MOCK_HOLD[clock]");
    await pill(page, "running");
    const seconds = async () => {
      const [, minutes, rest] = /(\d+):(\d\d)/.exec(await page.locator(".head .pill[data-state]").innerText());
      return Number(minutes) * 60 + Number(rest);
    };
    await eventually("some seconds have gone", async () => (await seconds()) >= 3);
    await page.reload();
    await pill(page, "running");
    await page.locator(".entry.user").waitFor(); // what the clock counts from
    assert.ok((await seconds()) >= 3, `${await seconds()} seconds`);
    assert.equal(await page.locator('[data-id="d"] .pair').count(), 2); // it is remembered
    await order("release", { name: "clock" });
    await finished(page);
    await close();
  });

  test("a new session begins with Ask first until people have chosen its access", async (browser) => {
    const { page, context, close } = await open(browser, "/");
    for (const chosen of [false, true]) {
      await context.route("**/api/setup", async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        await route.fulfill({ response, json: { ...answer, access: { approvalPolicy: "untrusted", filesystemSandbox: "read-only", networkAccess: "restricted", chosen } } });
      });
      await page.goto(`${base}/?chosen=${chosen}`);
      await page.getByRole("button", { name: new RegExp(`^Agent, model, access: Codex.*${chosen ? "Read only" : "Ask first"}`) }).waitFor();
      await page.getByLabel("First message").fill("MOCK_REPLY[begun]");
      const begun = page.waitForRequest((r) => new URL(r.url()).pathname === "/api/sessions" && r.method() === "POST");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      const { filesystemSandbox, approvalPolicy } = (await begun).postDataJSON();
      assert.deepEqual([filesystemSandbox, approvalPolicy], chosen ? [undefined, undefined] : ["workspace-write", "untrusted"]);
      await page.waitForURL(/\/s\/.+/);
    }
    await close();
  });

  test("Claude Code: a session is started with it, streams, asks, and is answered", async (browser) => {
    const { page, close } = await open(browser, "/");
    await page.getByLabel("First message").fill("MOCK_SLOW[4] MOCK_HOLD[claude]");
    await page.getByRole("button", { name: /^Agent, model, access/ }).click();
    await page.getByRole("dialog").getByLabel("Agent", { exact: true }).selectOption("claude");
    await page.getByRole("dialog").getByLabel("Ask first").check();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Agent, model, access: Claude Code.*Ask first/ }).waitFor();
    await eventually("Claude Code is up, and the session is there", async () => {
      await page.getByRole("button", { name: "Start", exact: true }).click({ timeout: 1000 }).catch(() => {});
      return page.waitForURL(/\/s\/.+/, { timeout: 2000 }).then(() => true, () => false);
    });
    const id = page.url().split("/s/")[1];
    const { capabilities } = await api("GET", `/api/sessions/${id}?limit=1`);
    await page.getByRole("button", { name: /^Agent, model, access:/ }).click();
    await page.getByRole("button", { name: "Custom rules…" }).click();
    await eventually("only what it offers is offered", async () => (await page.getByLabel("File access").locator("option").evaluateAll((all) => all.map((one) => one.value))).join() === capabilities.sandboxes.join());
    await page.keyboard.press("Escape");
    const field = page.getByLabel("Message");
    await pill(page, "running");
    await order("release", { name: "claude" });
    await finished(page);
    await pill(page, "idle");
    await field.fill("MOCK_CMD[echo from claude]");
    await field.press("Enter");
    await page.locator(".request", { hasText: "echo from claude" }).waitFor();
    await aims(page, page.locator(".request"), "y");
    await page.keyboard.press("Enter");
    await finished(page, 2);
    await pill(page, "idle");
    assert.ok((await transcript(id)).some((e) => e.type === "commandExecution" && JSON.parse(e.details).exitCode === 0), "the command ran");
    await close();
  }, { core: true });
};
