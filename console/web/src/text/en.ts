// Every word the page says itself, so that there can be another language.
export const text = {
  app: "Harness",
  nav: { sessions: "Sessions", inbox: "Inbox", settings: "Settings", jobs: "Jobs", extensions: "Extensions", runtimes: "Runtimes", events: "Events", usage: "Usage", skip: "Skip to the page" },
  link: {
    live: "live", connecting: "connecting…", offline: "offline", login: "logged out", version: "new version",
    stale: "Not connected: what you see may be old. It goes on by itself.",
  },
  upgrade: { told: "The server was upgraded.", reload: "Reload", note: "Drafts are kept." },
  states: { idle: "idle", running: "running", waiting: "needs you", error: "failed", unresponsive: "not answering" } as Record<string, string>,
  list: {
    label: "Sessions", fresh: "New", active: "Active", waiting: "Needs you", all: "All", filter: "Filter by title or folder",
    none: "No sessions here.", elsewhere: "no project", first: "Start one with New.", more: "Load more", unread: "unread",
  },
  session: {
    pick: "Pick a session, or start one.", stop: "Stop", stopping: "Esc Esc", more: "More", rename: "Rename", archive: "Archive", fork: "Fork",
    remove: "Delete", back: "Back to the sessions", loading: "Reading the transcript…", empty: "Nothing was said yet.", copy: "copy", copied: "copied",
    follow: "new ↓", bottom: "Newest ↓", older: "reading older entries…", sending: "sending…", steps: "steps", failed: "The transcript cannot be read: ",
    newBehind: "New since you were here", unread: "Mark as unread", panel: "About this session", plan: "Plan", context: "Context", where: "Where", changes: "Changes", tokens: "tokens", noPlan: "No plan.", project: "Project", noProject: "none", controls: "Runs with", asDefault: "Make it the default", lockedBy: "Whoever starts the server changes it: SESSION_DEFAULTS_LOCKED and the DEFAULT_* settings.", isDefault: "New sessions run with the same.",
    confirm: "Delete it for good? Type its title:", cancel: "Cancel", save: "Save",
  },
  composer: {
    label: "Message", idle: "Message… Enter sends, Shift Enter makes a new line", running: "Message… Enter sends it when the turn is over, Ctrl Enter steers the turn",
    send: "Send", steer: "Steer", queue: "Queue", approval: "Approvals", sandbox: "Sandbox", model: "Model", network: "Network", viewer: "You may read here, not write.",
    failed: "Not sent: ", unanswered: "The server did not answer. Send it again: it is taken once.", anyModel: (name?: string) => (name ? `default model (${name})` : "default model"), effort: "Effort",
    anyEffort: (name?: string | null) => (name ? `default effort (${name})` : "default effort"), ofEffort: (name: string) => `effort ${name}`, ofNetwork: (name: string) => `network ${name}`,
    attach: "+ Image", images: "Attached images", detach: (name: string) => `Take away ${name}`,
    noRoom: (name: string) => `${name} cannot be made small enough: a picture is at most 5 MB.`, uploading: (name: string) => `Uploading ${name}`, noImage: (name: string) => `${name} cannot be read as an image.`,
  },
  queue: {
    title: "Waiting to be sent", edit: "Edit", drop: "Drop", up: "Earlier", now: "Send now", save: "Save", cancel: "Cancel", sending: "being sent…",
    held: (why: string | null) => `Held: ${why ?? "the server does not say why"}. Edit, send or drop it.`, images: (n: number) => (n === 1 ? "1 image" : `${n} images`), label: "Text of the waiting message",
  },
  request: {
    needs: "Needs you", command: "command", files: "change files", tool: "tool", question: "question", permissions: "permissions",
    approve: "Approve", session: "For this session", always: "Always this command", decline: "Decline", why: "Decline and say why",
    reason: "Reason", answer: "Answer", skip: "Skip", other: "Other", refuse: "Refuse", result: "Result", waiting: "waiting", late: "you were second",
    you: "you", nobody: "nobody", ended: "ended", approved: "approved", declined: "declined", canceled: "canceled", expired: "expired", answered: "answered",
    working: "Telling the agent…",
  },
  inbox: {
    title: "Inbox", waiting: "waiting", none: "Nothing waits for you.", keys: "J K move · Y approve · S session · N decline · R with a reason · X select · Enter open",
    select: "Select", approveSelected: (n: number) => `Approve ${n} selected`, willApprove: "This is approved, once each:", notAll: (n: number) => `${n} could not be approved: `,
    would: "What it would do", before: "Last lines before the question", open: "Open the session",
  },
  settings: {
    title: "Settings", who: "You are", may: "You may", logout: "Log out", theme: "Theme", system: "as the system", light: "light", dark: "dark",
    keys: "Single-letter keys", keysNote: "Y, N, S, R, J, K outside of text fields", api: "API documentation",
    saved: "These are kept in this browser.",
  },
  server: {
    title: "The server", defaults: "New sessions run with", started: "Started with", all: "also what nobody set", none: "not set",
    restart: "Whoever starts the server changes these: by flags, the environment or its files. They count from its next start.",
    sources: { flag: "flag", environment: "environment", ".env": ".env", file: "config file", default: "default" },
  },
  message: {
    link: "copy link", fork: "fork here", back: "roll back to here", doBack: "Roll back", far: "Scroll to the newest entries first: what stands after this is not in memory.",
    backNote: (turns: number) => (turns === 0 ? "Nothing came after it." : `The last ${turns === 1 ? "turn is" : `${turns} turns are`} taken out of the conversation. Files that were changed stay as they are.`),
    forkNote: (turns: number) => `A new session goes on from here${turns === 0 ? "" : turns === 1 ? ", without the last turn" : `, without the last ${turns} turns`}. This one stays as it is.`,
    draft: "The message's text is put into the message field.",
    dropped: "The turn was stopped before the agent read this.",
  },
  diff: { split: "side by side", unified: "one column" },
  palette: { title: "Go to, or do", note: "A page, a session, something to do, what somebody said…", page: "page", session: "session", action: "action", none: "Nothing fits.", hit: "in the transcript", behind: "The server is still reading old transcripts; more may be found later.", stop: "Stop the turn" },
  keys: {
    title: "Keys", off: "Single letters are switched off in the settings.",
    list: [
      ["Ctrl+K", "find a page, a session, something to do"], ["?", "this list"], ["g s", "sessions"], ["g i", "inbox"], ["g j", "jobs"], ["g e", "events"], ["g u", "usage"], ["g x", "extensions"], ["g r", "runtimes"],
      ["g ,", "settings"], ["Enter", "send, when the turn is over"], ["Ctrl+Enter", "send into the running turn"], ["Shift+Enter", "new line"], ["Esc Esc", "stop the turn"], ["Y", "approve"], ["S", "approve for the session"],
      ["A", "approve this command always"], ["N", "decline"], ["R", "decline with a reason"], ["J K", "inbox: next, previous"], ["X", "inbox: select"],
    ] as [string, string][],
  },
  notify: {
    ask: "Something waits for you. Shall this browser tell you when you look elsewhere?", yes: "Yes, notify me", no: "No", request: "waits for you", ended: "the turn has ended", failed: "the turn has failed",
    title: "Notifications", on: "Notify me when I look elsewhere", sound: "With a sound", try: "Try the sound", refused: "This browser does not let the page notify. Allow it in the browser's settings for this site.",
    push: "Also while no page is open", pushNote: "Through the push service of this browser's maker, encrypted for this browser alone.", pushFailed: "This browser cannot be told: ",
    unable: "While no page is open nothing can be told: it takes https or localhost, a browser with Web Push, and a server that sends to its push service.",
    browsers: "Browsers that are told", ownBrowser: "this browser", since: "since", end: "Tell it no more",
  },
  operator: { failed: "Cannot be read: ", read: "read", again: "Read again", more: "Other pages" },
  jobs: {
    title: "Jobs", none: "No jobs.", all: "All", type: "Type", state: "State", owner: "Owner", made: "Created", attempts: "Attempts", took: "Took", pause: "Pause updates", go: "Go on",
    payload: "Payload", result: "Result", error: "Error", timeline: "Timeline", cancel: "Cancel", source: "Source session", worker: "Works in", everyType: "any type", again: "Run again", more: (n: number) => `The newest ${n} are shown; filters find the others.`, filter: "Filter by type",
    canceling: "to be canceled", over: "It had ended already.", steps: { createdAt: "created", startedAt: "started", lastAttemptAt: "last attempt", nextAttemptAt: "next attempt", cancelRequestedAt: "cancel requested", completedAt: "ended" } as Record<string, string>,
    states: { queued: "queued", running: "running", completed: "completed", failed: "failed", canceled: "canceled" } as Record<string, string>,
  },
  events: {
    title: "Events", none: "No events.", pos: "Position", time: "Time", type: "Type", typeNote: "A type, or its beginning and a *: turn/*", session: "Session", actor: "Actor", payload: "Event",
    filter: "Filter", older: "Older", newest: "Newest", pause: "Pause updates", go: "Go on",
  },
  usage: {
    title: "Usage", none: "Nothing was used.", by: "Added up by", since: "Since", days: (n: number) => (n === 1 ? "today" : `${n} days`), total: "Total", noProject: "no project",
    groups: { day: "Day", project: "Project", session: "Session", runtime: "Runtime" },
    columns: { requests: "Requests", inputTokens: "Input", cachedInputTokens: "of it cached", outputTokens: "Output", reasoningOutputTokens: "of it reasoning", totalTokens: "Tokens" },
  },
  extensions: {
    title: "Extensions", none: "No extensions are loaded.", reload: "Reload", reloaded: (n: number) => `${n} loaded, none failed.`, refused: "Nothing was changed, all or none:", loaded: "Loaded", snapshot: "Snapshot",
    agent: "Agent", events: "Listens to", declared: "Declared", origin: "From", diagnostics: "Notes", well: "well", nothing: "nothing", untrusted: "Not run, because nobody has consented", trust: "Consent on the server's machine:",
  },
  runtimes: {
    title: "Runtimes", waits: "sessions wait for a process", turns: "Turns", messages: "Messages", of: "of", processes: "Processes", can: "Can", cannot: "Cannot", login: "Log in", logins: "Login", found: "credentials found",
    missing: "no credentials", unknown: "not known", standard: "default", pid: "process", shim: "kept by", since: "since", noProcess: "none runs", tested: "tested with", install: "Install it with",
    page: "Open this page and type in the code:", code: "Code the page shows", done: "Done", key: "Key of a model provider", send: "Send", complete: "Logged in.", started: "The agent notices the end by itself.",
  },
  login: {
    title: "Log in", token: "Access token", button: "Log in",
    where: "HARNESS_AUTH_TOKEN of the server, or a token of your own: harness tokens create NAME --role operator", again: "Your login has ended. Log in again; what you typed is kept.",
  },
  fresh: { title: "New session", cwd: "Folder", cwdNote: "empty: the server's", runtime: "Agent", standard: "the server's default", create: "Start" },
  broken: "This page has failed.",
  missing: "There is no such page.",
  roles: { user: "you", assistant: "agent", system: "" } as Record<string, string>,
};
