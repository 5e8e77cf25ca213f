// Every text of the page in English. Other languages have the same keys; a missing one is a compile error.
import { counted } from "./plural";

const n = counted("en-US");
/** upper begins a word of the server with a capital letter. */
const upper = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);

export const text = {
  app: "Harness",
  nav: { sessions: "Sessions", inbox: "Inbox", settings: "Settings", jobs: "Jobs", extensions: "Extensions", runtimes: "Agents", events: "Events", usage: "Usage", skip: "Skip to content" },
  link: {
    live: "Live", first: "Connecting…", connecting: "Reconnecting", offline: "Offline", login: "Signed out", version: "Update available",
    reconnecting: "Reconnecting to the server.", noNetwork: "No network.", stale: (time: string) => `You’re seeing what it last sent at ${time}; drafts are safe.`,
    next: (seconds: number) => `Next try in ${seconds} s`, trying: "Trying…", again: "Try now", decide: "Reconnect to decide.", runningAt: (state: string, time: string) => `${state} at ${time}`,
    gap: "Reconnected after a gap. Everything was reloaded.", replaced: "The server’s data was restored. Everything was reloaded.", unreachable: "Can’t reach the server. Trying again…",
  },
  upgrade: { message: "Harness was updated.", reload: "Reload", note: "Drafts are kept.", dismiss: "Dismiss" },
  states: { idle: "Idle", running: "Running", waiting: "Needs you", error: "Failed", unresponsive: "Not responding" } as Record<string, string>,
  list: {
    label: "Sessions", fresh: "New session", filter: "Search sessions",
    none: "No sessions match.", clear: "Clear filters", elsewhere: "No project", first: "No sessions yet. Start one with New session.", more: "Load more", unread: "Unread",
    asks: (line: string) => `Asks: ${line}`, run: (line: string) => `Run: ${line}`, edit: (line: string) => `Edit: ${line}`, untitled: "Untitled session",
  },
  session: {
    pick: "Choose a session or start one.", stop: "Stop", escape: "Press Esc again to stop", more: "More actions", rename: "Rename…", title: "Title", archive: "Archive", fork: "Fork",
    remove: "Delete…", back: "Back to sessions", loading: "Loading…", empty: "No messages yet. Say what you want done.", copy: "Copy", copied: "Copied", transcript: "Transcript",
    follow: (count: number) => `${count} new`, bottom: "Jump to latest", older: "Loading earlier messages…", sending: "Sending…", failed: "Couldn’t load this session: ",
    newBehind: "New since your last visit", unread: "Mark as unread", panel: "Session details", plan: "Plan", context: "Context", where: "Folder", changes: "Changes",
    tokens: (used: string, of: string | null, share: number | null) => (of === null ? `${used} tokens` : `${used} of ${of} tokens (${share}% used)`), share: (percent: number) => `${percent}%`,
    noPlan: "No plan yet. Agents add one for longer tasks.", project: "Project", noProject: "No project", controls: "Agent, model, access", asDefault: "Use for new sessions",
    lockedBy: "Only the server’s configuration can change this: SESSION_DEFAULTS_LOCKED and DEFAULT_*.", isDefault: "Same as the default for new sessions.",
    confirm: "This deletes the transcript for good. Type the title to confirm:", cancel: "Cancel", save: "Save",
  },
  composer: {
    label: "Message", idle: (agent: string) => `Message ${agent}`, running: (agent: string) => `Queue a message for ${agent}`,
    send: "Send", steer: "Send now", queue: "Queue", approval: "Approvals", sandbox: "File access", model: "Model", network: "Network",
    viewer: "View only. Ask an operator for access to send messages.", failed: "Not sent: ", unanswered: "No answer from the server. Send again; it won’t be sent twice.", unsent: "No answer from the server. Remove it and attach it again.",
    anyModel: (name?: string) => (name ? `${name} · default` : "Default model"), effort: "Effort", anyEffort: (name?: string | null) => (name ? `${upper(name)} · default` : "Default"),
    ofEffort: upper, attach: "Attach an image", images: "Attached images", detach: (name: string) => `Remove ${name}`,
    noRoom: (name: string) => `${name} is too large. Images can be up to 5 MB.`, uploading: (name: string) => `Uploading ${name}`, noImage: (name: string) => `${name} isn’t an image. Use PNG, JPEG, GIF or WebP.`,
  },
  // The page's names of values on the wire, which stand in the title attribute.
  access: {
    untrusted: "Ask first", "on-request": "Ask when needed", "on-failure": "Ask after a failure", never: "Never ask",
    "read-only": "Read only", "workspace-write": "Edit in the folder", "danger-full-access": "Full access", restricted: "Network off", enabled: "Network on",
    plan: "Plan only", default: "Ask first", acceptEdits: "Accept edits", bypassPermissions: "Skip permissions",
  } as Record<string, string>,
  trouble: {
    failed: "This turn failed", retry: "Retry", again: "Send again", signIn: "Sign in", agents: "Agents", setUp: "Before you start",
    retrying: (attempt: number, of?: number) => `Can’t reach the model · try ${attempt}${of ? ` of ${of}` : ""}`,
    signedOut: (agent: string) => `${agent} isn’t signed in.`, unavailable: (agent: string) => `${agent} isn’t available.`, row: (why: string) => `Failed: ${why}`,
  },
  fold: { lines: (count: number) => `Show all ${n(count, "line")}`, all: "Show all", less: "Show less" },
  step: {
    commands: (count: number) => `ran ${n(count, "command")}`, edits: (count: number) => `edited ${n(count, "file")}`, thoughts: () => "thought",
    others: (count: number) => n(count, "other step"), details: "Details", applied: "Applied", exit: (code: number) => `Exit ${code}`,
    running: "Running", done: "Done", failed: "Failed", files: (count: number) => n(count, "file"), andMore: (paths: string, more: number) => `${paths} and ${more} more`,
    thought: "Thought", plan: "Plan", searched: (query: string) => `Searched “${query}”`, used: (tool: string) => `Used ${tool}`,
  },
  decided: {
    command: "this command", edit: "this edit", accept: (who: string | null, what: string) => (who === null ? "Approved" : `${who} approved ${what}`),
    decline: (who: string | null, why: string) => (who === null ? "Declined" : `${who} declined`) + (why ? `: “${why}”` : ""),
    cancel: "Canceled with the turn", expired: "Expired without an answer", answered: (who: string | null) => (who === null ? "Answered" : `${who} answered`),
  },
  background: { title: (count: number) => `${count} running in the background`, since: (age: string) => `In the background for ${age}`, end: "End" },
  queue: {
    title: "Queued messages", edit: "Edit", drop: "Remove", up: "Move up", now: "Send now", save: "Save", cancel: "Cancel", sending: "Sending…",
    held: (why: string | null) => `Not sent: ${why ?? "the server gave no reason"}. Edit, send or remove it.`, images: (count: number) => n(count, "image"), label: "Queued message",
  },
  request: {
    needs: "Needs you", command: (agent: string) => `${agent} wants to run a command`, files: (agent: string, count: number) => `${agent} wants to edit ${count === 0 ? "files" : n(count, "file")}`,
    tool: (agent: string, tool: string) => `${agent} wants to use ${tool || "a tool"}`, question: (agent: string) => `${agent} asks`, permissions: (agent: string) => `${agent} wants more access`,
    anAgent: "An agent", approve: "Approve", session: "Approve for this session", always: "Always approve this command", decline: "Decline", why: "Decline and say why…",
    aims: { approve: "Enter approves", session: "Enter approves for this session", always: "Enter approves it always", decline: "Enter declines", reason: "Enter asks for the reason" }, cancels: "Esc cancels",
    aimed: (button: string, what: string) => `${button}: ${what}`, reason: "What should it do instead? (optional)", answer: "Answer", skip: "Skip", other: "Something else",
    several: "(choose any)", lines: "Answers, one per line", refuse: "Decline", result: "Result", waiting: (age: string) => `Waiting ${age}`, in: (folder: string) => `in ${folder}`,
    you: "You", declined: "declined", news: (session: string, line: string) => `${session} needs you: ${line}`,
  },
  inbox: {
    title: "Inbox", waiting: (count: number) => n(count, "request"), none: "You’re all caught up. Requests from agents show up here.",
    select: "Select", approveSelected: (count: number) => `Approve ${count} selected`, willApprove: "You’re about to approve:", notAll: (count: number) => `${count} not approved: `,
    would: "Details of the request", before: "Before this request", open: "Open session",
  },
  settings: {
    who: "You", may: { owner: "Can do everything", admin: "Can do everything", operator: "Can start sessions and approve", viewer: "Can read", ci: "Can post entries" } as Record<string, string>,
    roles: { owner: "Owner", admin: "Admin", operator: "Operator", viewer: "Viewer", ci: "CI" } as Record<string, string>,
    logout: "Sign out", theme: "Theme", system: "System", light: "Light", dark: "Dark", language: "Language",
    keys: "Single-letter shortcuts", keysNote: "G, J, K, X, ? and the letters on a focused request. Letters never approve: Enter does.", api: "API reference",
    saved: "Saved in this browser.",
  },
  server: {
    title: "Server", defaults: "Defaults for new sessions", started: "Configuration", all: "Show settings at their default", none: "Not set",
    restart: "Change these with flags, environment variables or the config file, then restart the server.",
    sources: { flag: "flag", environment: "environment variable", ".env": ".env file", file: "config file", default: "default" },
  },
  message: {
    link: "Copy link", fork: "Fork from here…", back: "Rewind to here…", doBack: "Rewind", far: "Jump to latest first, then try again.",
    backNote: (turns: number) => (turns === 0 ? "Nothing to rewind." : `Removes the last ${turns === 1 ? "turn" : n(turns, "turn")} from the conversation. Files stay as they are.`),
    forkNote: (turns: number) => `Starts a new session from here${turns === 0 ? "" : `, without the last ${turns === 1 ? "turn" : n(turns, "turn")}`}. This session doesn’t change.`,
    draft: "Its text goes back into the message field.",
    dropped: "Stopped before the agent read this.",
  },
  diff: { split: "Side by side", unified: "Unified" },
  palette: {
    title: "Search", note: "Search sessions, transcripts and actions", none: "No results. Try fewer words.",
    behind: "Still indexing older transcripts. More results may appear.", stop: "Stop this turn",
  },
  keys: {
    title: "Keyboard shortcuts", off: "Single-letter shortcuts are off. Turn them on in Settings.",
    list: [
      ["Ctrl+K", "Search"], ["/", "Search"], ["?", "Show this list"], ["g s", "Sessions"], ["g n", "New session"], ["g i", "Inbox"], ["g j", "Jobs"], ["g e", "Events"], ["g u", "Usage"], ["g x", "Extensions"], ["g r", "Agents"],
      ["g ,", "Settings"], ["Enter", "Send, or queue while the agent works"], ["Ctrl+Enter", "Send now, into the running turn"], ["Shift+Enter", "New line"], ["Esc Esc", "Stop this turn"],
      ["Y", "On a focused request: aim at Approve (Enter approves)"], ["S", "Aim at Approve for this session"], ["A", "Aim at Always approve"], ["N", "Aim at Decline"], ["R", "Decline and say why"],
      ["J K", "Inbox: next, previous"], ["X", "Inbox: select"],
    ] as [string, string][],
  },
  notify: {
    ask: "Get a notification when an agent needs you?", yes: "Turn on", no: "Not now", request: "needs you", ended: "is done", failed: "failed",
    title: "Notifications", on: "When this tab is in the background", sound: "Play a sound", try: "Play", refused: "Notifications are blocked. Allow them for this site in your browser’s settings.",
    push: "When Harness is closed", pushNote: "Sent through your browser’s push service, encrypted for this browser.", pushFailed: "Couldn’t turn on push notifications: ",
    unable: "Push needs HTTPS or localhost, a browser with Web Push, and a server that can reach the push service.",
    browsers: "Browsers with notifications", ownBrowser: "This browser", since: "Added", end: "Remove",
  },
  operator: { failed: "Couldn’t load: ", updated: (age: string | null) => (age === null ? "Updated just now" : `Updated ${age} ago`), again: "Try again" },
  jobs: {
    title: "Jobs", none: "No jobs yet. Create one through the API.", all: "All", type: "Type", state: "Status", owner: "Project", made: "Created", attempts: "Attempts", took: "Duration", pause: "Pause updates", go: "Resume updates",
    payload: "Input", result: "Result", error: "Error", timeline: "Timeline", cancel: "Cancel job", source: "Started from session", worker: "Runs in session", everyType: "All types", again: "Run again",
    more: (count: number) => `Showing the newest ${count}. Filter to find older ones.`, filter: "Filter by type", attempt: (count: number, of: number) => `Attempts: ${count}/${of}`,
    canceling: "Canceling…", over: "This job has already ended.",
    steps: { createdAt: "Created", startedAt: "Started", lastAttemptAt: "Last attempt", nextAttemptAt: "Next attempt", cancelRequestedAt: "Cancel requested", completedAt: "Ended" } as Record<string, string>,
    states: { queued: "Queued", running: "Running", completed: "Done", failed: "Failed", canceled: "Canceled" } as Record<string, string>,
  },
  events: {
    title: "Events", none: "No events match.", pos: "Position", time: "Time", type: "Type", typeNote: "Exact type, or a prefix with *: turn/*", session: "Session", actor: "By", payload: "Event",
    filter: "Apply", older: "Older", newest: "Newest", pause: "Pause updates", go: "Resume updates",
  },
  usage: {
    title: "Usage", none: "No usage in this period.", by: "Group by", since: "Period", days: (count: number) => (count === 1 ? "Today" : `Last ${n(count, "day")}`), total: "Total", noProject: "No project",
    groups: { day: "Day", project: "Project", session: "Session", runtime: "Agent" },
    columns: { requests: "Model calls", inputTokens: "Input", cachedInputTokens: "Cached", outputTokens: "Output", reasoningOutputTokens: "Reasoning", totalTokens: "Tokens" },
  },
  extensions: {
    title: "Extensions", none: "No extensions yet. Add one to the extensions folder, then reload.", reload: "Reload", reloaded: (count: number) => `${n(count, "extension")} loaded`,
    refused: "Nothing changed. Fix this, then reload:", loaded: "Loaded", snapshot: "Snapshot", agent: "ID", events: "Listens for", declared: "Permissions", origin: "Source", diagnostics: "Messages",
    well: "OK", nothing: "None", untrusted: "Not trusted yet, so not running", trust: "To trust it, run on the server:",
    trusted: { accepted: "Trusted", accepted_with_warnings: "Trusted, with warnings", denied: "Refused" } as Record<string, string>,
  },
  runtimes: {
    title: "Agents", waits: (count: number) => `${n(count, "session is", "sessions are")} waiting for a process`, turns: "Turns", messages: "Messages", of: (now: number, most: number) => `${now} of ${most}`,
    processes: "Processes", can: "Supports", cannot: "Doesn’t support", login: "Sign in", logins: "Sign-in", found: "Signed in", missing: "Not signed in", unknown: "Unknown", standard: "Default",
    credentials: { apiKey: "API key", login: "account", cloud: "cloud" } as Record<string, string>,
    pid: "PID", shim: "supervisor PID", since: "since", noProcess: "Not running. Starts with the next message.", tested: "Tested with", install: "Install with",
    page: "Open this page and enter the code:", code: "Code from the page", done: "Continue", key: "API key", send: "Save", complete: "Signed in.", started: "This page updates when you’re done.",
    states: { starting: "Starting", ready: "Ready", unavailable: "Not working", stopped: "Stopped", unresponsive: "Not responding", busy: "Busy", idle: "Idle", running: "Running" } as Record<string, string>,
    abilities: {
      steer: "messages into a running turn", rollback: "rewind", fork: "fork", compact: "compact", review: "review", archive: "archive", images: "images", dynamicTools: "tools of the session",
      denyReason: "reasons for a decline", approveForSession: "approval for the session", plan: "plan", usage: "usage", subagents: "subagents", selfStartedTurns: "turns of its own",
      parallelToolCalls: "parallel tool calls", nativeToolsOff: "own tools off", ownedTools: "Tools of the session", processPer: "One process per", implicitSources: "Reads on its own",
      sandboxes: "File access", approvalPolicies: "Approvals", networkAccess: "Network", unasked: "Not asked about",
    } as Record<string, string>,
  },
  login: {
    title: "Sign in to Harness", token: "Access token", button: "Sign in", at: (provider: string) => `Continue with ${provider}`, or: "or", show: "Show token", hide: "Hide token",
    where: "No token? Run harness open on the server, or create one there with harness tokens create NAME --role operator.",
    again: "You’ve been signed out. Sign in again; your drafts are kept.",
  },
  // The session page and the inbox.
  talk: {
    archived: "Archived", archivedBy: (who: string | null, day: string) => `Archived${who ? ` by ${who}` : ""} · ${day}`,
    you: "you", unknown: "Unknown", actors: { token: "Owner", local: "This machine" } as Record<string, string>, program: "CI", agent: "Agent", fixed: "Fixed for this session", access: "Access", custom: "Custom", rules: "Custom rules…", on: "On", off: "Off",
    openNetwork: "Without a sandbox the network is always on.",
    presets: {
      read: ["Read only", "Reads files. Writing fails even if you approve it."], ask: ["Ask first", "Edits this folder and runs commands, and asks each time."],
      edit: ["Edit freely", "Works in this folder without asking. Asks to leave it."], full: ["Full access", "No sandbox, network on, never asks. For throwaway machines."],
    } as Record<"read" | "ask" | "edit" | "full", [name: string, sentence: string]>,
    reach: { "read-only": "Can only read", "workspace-write": "Can write in this folder", "danger-full-access": "No sandbox" } as Record<string, string>, noNetwork: "No network",
    moreApprove: "More ways to approve", moreDecline: "More ways to decline", moreSend: "More ways to send", deciding: "Sending your decision…", operators: "Only operators can decide.",
    others: (count: number) => n(count, "more request"), next: (agent: string) => `What should ${agent} do next?`,
    running: (line: string) => `Running ${line}`, editing: (file: string) => `Editing ${file || "files"}`, writing: "Writing", thinking: "Thinking", waits: "Waiting for you", turn: (clock: string) => `turn ${clock}`,
    reads: (count: number) => `read ${n(count, "file")}`, commands: (count: number) => n(count, "command"), edits: (count: number) => n(count, "edit"), interrupted: (after: string) => `Interrupted after ${after}`,
    lost: "Image no longer stored", close: "Close", asText: "Open as text",
    unsent: "Messages not sent yet", willSend: "Sent once the server is back", notSent: (time: string) => `Not sent since ${time}`,
    share: (percent: number) => `${percent}% context`, showPanel: "Show side panel", hidePanel: "Hide side panel", noChanges: "No changes yet.", byAgent: "Edited by the agent", sinceStart: "Since the first turn", binary: "A binary file.", skipped: (count: number) => `${n(count, "path")} not compared`, alsoIn: "also in another session",
    move: "Move to project…", moveDo: "Move", copyLink: "Copy link", copyId: "Copy ID", export: (format: string) => `Export as ${format}`, compact: "Compact context",
  },
  files: {
    title: "Files", empty: "An empty folder.", more: "Show more", cut: "This folder has more entries than are listed.", copy: "Copy path", range: (shown: string, all: string) => `The first ${shown} of ${all}`,
    closed: { secret: "Secret", version_control: "Version control", server: "The server’s own", outside: "Leads out of the folder", special: "Special file", name: "Name is not UTF-8" } as Record<string, string>,
  },
  broken: "Something went wrong on this page.",
  missing: "This page doesn’t exist.", toSessions: "Go to sessions",
  picture: (at: number) => `Image ${at}`,
  became: { declined: "Declined", canceled: "Canceled", expired: "Expired", failed: "Failed", stopped: "Interrupted" },
  stopped: "Stopped", stoppedBy: (who: string) => `Stopped by ${who}`,
  side: {
    main: "Main", manage: "Manage", new: "New", searchKey: (mac: boolean): string => (mac ? "⌘ K" : "Ctrl K"), hide: "Hide sidebar", open: "Open sidebar",
    general: "General", people: "People and tokens", projects: "Projects", server: "Server", requests: (count: number) => n(count, "request"), archived: "Archived.", undo: "Undo", dismiss: "Dismiss",
    filter: "Show", project: "Project", everyProject: "All projects", groups: { waiting: "Needs you", running: "Running", today: "Today", yesterday: "Yesterday", week: "This week" },
    filters: { all: "All sessions", waiting: "Needs you", running: "Running", failed: "Failed", unread: "Unread", archived: "Archived" }, running: (what: string) => `Running ${what}`, editing: (what: string) => `Editing ${what}`, menu: (title: string) => `More actions: ${title}`,
    unread: "Mark as unread", copyLink: "Copy link", archive: "Archive", unarchive: "Unarchive",
  },
  start: {
    worktree: "New worktree", onBranch: (branch: string) => `New worktree on branch ${branch}`,
    title: "What should the agent do?", welcome: "Welcome to Harness", about: "Run coding agents on this server, watch them work, and approve what they do.",
    label: "First message", hint: "Describe a task", first: "Try: “Explain how this project is built and run its tests.”", start: "Start", viewer: "Pick a session from the list. Only operators can start sessions.",
    folder: "Folder", anyFolder: "Server’s folder", recent: "Recent folders", matching: "Matching folders on the server", complete: "Type a path, or Tab to complete it.", noGit: "no Git", more: "Type more to see other folders.",
    running: (count: number) => `${count} running`, needsYou: (count: number) => (count === 1 ? "1 needs you" : `${count} need you`), ago: (age: string) => `${age} ago`,
    setUp: "Agent, model, access", agent: "Agent", access: "Access", standard: "Default", rules: "Custom rules…", custom: "Custom",
    before: "Before you start", todo: (count: number) => (count === 0 ? "All set" : count === 1 ? "1 thing to do" : `${count} things to do`), ready: (agent: string) => `${agent} is ready`, missing: (agent: string) => `${agent} isn’t installed`,
    signedOut: (agent: string) => `${agent} isn’t signed in`, unable: (agent: string) => `${agent} isn’t available`, version: (version: string) => `Version ${version}`, serverReady: "Server is running", serverNotReady: "Server isn’t ready",
    presets: { read: "Read only", ask: "Ask first", edit: "Edit freely", full: "Full access" },
    sentences: { read: "Looks, and changes nothing.", ask: "Asks before it edits or runs anything.", edit: "Edits in the folder, asks for the rest.", full: "Never asks. No sandbox, open network." },
  },
  find: {
    sessions: "Sessions", transcripts: "In transcripts", actions: "Actions", open: "Open", jump: "Jump to", fresh: (said: string) => `New session: “${said}”`, keys: "Enter opens · ↑ ↓ move · Esc closes", archived: "archived",
  },
  set: {
    appearance: "Appearance", keyboard: "Keyboard", still: "Reduce motion", stillNote: "Follows your system unless you turn it on.", allKeys: "All shortcuts", show: "Show", others: "Server settings are under",
    needs: { work: "This page needs the role Operator.", administer: "This page needs the role Admin." },
    tokens: "Tokens", people: "People", role: "Role", tokenName: "Token name", createToken: "Create token", once: "Copy this token now. It isn’t shown again.", done: "Done", noTokens: "No tokens yet.",
    created: (day: string, by: string) => `Created ${day} by ${by}`, expires: (day: string) => `expires ${day}`, revoke: (name: string) => `Revoke ${name}`,
    projectName: "Project name", projectFolder: "Folder (optional)", createProject: "Create project", noProjects: "No projects yet. A project groups sessions and can have its own folder.", rename: "Rename", removeProject: (name: string) => `Delete ${name}`,
  },
  ages: { now: "now", minutes: (count: number) => `${count} min`, hours: (count: number) => `${count} h`, days: (count: number) => `${count} d` },
};

export type Texts = typeof text;
