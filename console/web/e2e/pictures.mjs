// Pictures of the pages for the documentation, of a day's work that a scripted model does.
import { writeFileSync } from "node:fs";
import { api, base, eventually, finished, live, newSession, open, send, transcript } from "./kit.mjs";

const reply = "The hub locks **twice** on publish: `publish` takes the lock, then `grow` does again when the ring is full.\n\n```go\nfunc (h *Hub) publish(f Frame) {\n\th.mu.Lock()\n\tdefer h.mu.Unlock()\n\th.growLocked(1)\n}\n```\n\n1. let `grow` expect the lock\n2. run the benchmark";

const wide = { viewport: { width: 1440, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const looks = {
  light: { ...wide, colorScheme: "light" }, dark: { ...wide, colorScheme: "dark" },
  phone: { ...phone, colorScheme: "light" }, "phone-dark": { ...phone, colorScheme: "dark" },
};

/** picture writes a page as WebP, which Playwright does not. */
async function picture(page, path) {
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  writeFileSync(path, Buffer.from(data, "base64"));
  await devtools.detach();
}

export async function pictures(browser, folder) {
  const { project } = await api("POST", "/api/projects", { name: "harness" });
  const sessions = [];
  for (const title of ["Explain the ring buffer", "Release notes for 0.4", "Fix the lock in the hub"]) {
    sessions.unshift(await newSession(title));
    await api("POST", `/api/sessions/${sessions[0]}/project`, { projectId: project.projectId });
  }
  const [work, other] = sessions;
  await new Promise((later) => setTimeout(later, 1100)); // an agent has worked from the second after its session's first on
  await send(work, `MOCK_REPLY[${reply}]`);
  await eventually("the answer is there", async () => (await api("GET", `/api/sessions/${work}?limit=1`)).session.state === "idle" && (await transcript(work)).length > 1);
  await api("POST", `/api/sessions/${work}/suggested-request/jobs`, {});
  await send(work, "MOCK_CMD[go test -bench Fanout -count 5 ./bench]");
  await send(other, "MOCK_PATCH[notes.txt]");
  await api("POST", "/api/prices", { model: "mock*", inputMicros: 1_250_000_000 / 10, cachedInputMicros: 12_500_000, outputMicros: 1_000_000_000 });
  const pages = [
    ["session", `/s/${work}`, async (page) => {
      await page.locator(".request").first().waitFor();
      await finished(page);
      await page.locator(".hljs-keyword").first().waitFor({ state: "attached" });
    }],
    ["inbox", "/inbox", async (page) => {
      await page.locator(".request").nth(1).click({ position: { x: 200, y: 8 } });
      await page.locator(".panel .before p").first().waitFor({ state: "attached" });
    }],
    ["sessions", "/sessions", (page) => page.locator(".row").nth(2).waitFor()],
    ["start", "/", (page) => page.locator(".folder", { hasText: "~/src/harness" }).waitFor()],
    ["jobs", "/jobs", async (page) => {
      await page.locator("[data-job] button").first().click();
      await page.locator(".jobs .panel").waitFor();
    }],
    ["events", "/events", (page) => page.locator("[data-event]").nth(5).waitFor()],
    ["usage", "/usage", (page) => page.locator("[data-used]").first().waitFor()],
    ["extensions", "/extensions", (page) => page.locator("[data-module]").waitFor()],
    ["runtimes", "/runtimes", (page) => page.locator("[data-runtime]").nth(1).waitFor()],
    ["settings", "/settings", (page) => page.locator(".items li").first().waitFor()],
    ["search", "/sessions", async (page) => {
      await page.locator(".row").nth(2).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("th");
      await page.locator(".palette [role=option]").first().waitFor();
    }],
  ];
  for (const [look, options] of Object.entries(looks)) {
    const { page, context, close } = await open(browser, "/settings", options);
    await context.route(/\/api\/(sessions|requests|projects|folders|agents|orchestrator|events)/, ordinary);
    await context.route(/\/api\/server\/settings/, anybodys);
    for (const [name, path, there] of pages) {
      if (look.startsWith("phone") && name === "search") continue; // there is no key for it
      await page.goto(base + path);
      await live(page);
      await there(page);
      await picture(page, `${folder}/console-${name}-${look}.webp`);
    }
    await close();
    const anonymous = await browser.newContext(options);
    const login = await anonymous.newPage();
    await login.goto(`${base}/login`);
    await login.getByLabel("Access token").waitFor();
    await picture(login, `${folder}/console-login-${look}.webp`);
    await anonymous.close();
  }
}

/** anybodys leaves out the settings that are of the test's machine. */
async function anybodys(route) {
  const response = await route.fetch();
  const answer = await response.json();
  const shown = ["HARNESS_AUTH_TOKEN", "DEFAULT_APPROVAL_POLICY", "HARNESS_RUNTIMES"];
  await route.fulfill({ response, json: { ...answer, data: answer.data.filter((one) => one.source === "default" || shown.includes(one.name)) } });
}

/** ordinary puts words of a day's work where the script for the model and the folder of the test stand. */
async function ordinary(route) {
  const answer = await route.fetch();
  const body = (await answer.text())
    .replace(/"MOCK_REPLY\[(?:[^"\\]|\\.)*\]"/g, '"The hub takes its lock twice on publish. Find out why."')
    .replace(/"MOCK_CMD\[([^"\]]*)\]"/g, '"Show me with: $1"').replace(/"MOCK_PATCH\[([^"\]]*)\]"/g, '"Write $1"')
    .replace(/[^"' ]*\/TestTheConsole[a-z]*\d+\/\d+/g, "~/src/harness");
  await route.fulfill({ response: answer, body });
}
