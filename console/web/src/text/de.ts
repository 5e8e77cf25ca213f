// Every text of the page in German; readers are addressed with "du". It imports types alone: a module that waits for this
// one could not give it values.
import type { Texts } from "./en";

type Counted = (language: string) => (n: number, one: string, other?: string) => string;

const upper = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);

/** german makes the table with what counts nouns. */
export function german(counted: Counted): Texts {
  const n = counted("de-DE");
  return {
    app: "Harness",
    nav: { sessions: "Sitzungen", inbox: "Eingang", settings: "Einstellungen", jobs: "Jobs", extensions: "Erweiterungen", runtimes: "Agenten", events: "Ereignisse", usage: "Verbrauch", skip: "Zum Inhalt springen" },
    link: {
      live: "Verbunden", first: "Verbindung wird aufgebaut…", connecting: "Verbindet neu", offline: "Offline", login: "Abgemeldet", version: "Update verfügbar",
      reconnecting: "Die Verbindung zum Server wird wiederhergestellt.", noNetwork: "Kein Netz.", stale: (time) => `Du siehst den Stand von ${time}; Entwürfe sind sicher.`,
      next: (seconds) => `Nächster Versuch in ${seconds} s`, trying: "Verbindet…", again: "Jetzt versuchen", decide: "Entscheiden geht erst wieder mit Verbindung.", runningAt: (state, time) => `${state} um ${time}`,
      gap: "Nach einer Lücke neu verbunden. Alles wurde neu geladen.", replaced: "Die Daten des Servers wurden wiederhergestellt. Alles wurde neu geladen.", unreachable: "Der Server ist nicht erreichbar. Neuer Versuch…",
    },
    upgrade: { message: "Harness wurde aktualisiert.", reload: "Neu laden", note: "Entwürfe bleiben erhalten.", dismiss: "Ausblenden" },
    states: { idle: "Bereit", running: "Läuft", waiting: "Braucht dich", error: "Fehlgeschlagen", unresponsive: "Antwortet nicht" },
    list: {
      label: "Sitzungen", fresh: "Neue Sitzung", filter: "Sitzungen durchsuchen",
      none: "Keine passende Sitzung.", clear: "Filter zurücksetzen", elsewhere: "Kein Projekt", first: "Noch keine Sitzungen. Starte mit „Neue Sitzung“.", more: "Mehr laden", unread: "Ungelesen",
      asks: (line) => `Frage: ${line}`, run: (line) => `Ausführen: ${line}`, edit: (line) => `Ändern: ${line}`, untitled: "Sitzung ohne Titel",
    },
    session: {
      pick: "Wähle eine Sitzung oder starte eine neue.", stop: "Anhalten", escape: "Zum Anhalten noch einmal Esc drücken", more: "Weitere Aktionen", rename: "Umbenennen…", title: "Titel", archive: "Archivieren", fork: "Abzweigen",
      remove: "Löschen…", back: "Zurück zu den Sitzungen", loading: "Wird geladen…", empty: "Noch keine Nachrichten. Schreib, was zu tun ist.", copy: "Kopieren", copied: "Kopiert", transcript: "Verlauf",
      follow: (count) => `${count} neu`, bottom: "Zum Neuesten", older: "Frühere Nachrichten werden geladen…", sending: "Wird gesendet…", failed: "Diese Sitzung konnte nicht geladen werden: ",
      newBehind: "Neu seit deinem letzten Besuch", unread: "Als ungelesen markieren", panel: "Details zur Sitzung", plan: "Plan", context: "Kontext", where: "Ordner", changes: "Änderungen",
      tokens: (used, of, share) => (of === null ? `${used} Tokens` : `${used} von ${of} Tokens (${share} % belegt)`), share: (percent) => `${percent} %`,
      noPlan: "Noch kein Plan. Bei längeren Aufgaben legen Agenten einen an.", project: "Projekt", noProject: "Kein Projekt", controls: "Agent, Modell, Zugriff", asDefault: "Für neue Sitzungen übernehmen",
      lockedBy: "Das lässt sich nur in der Konfiguration des Servers ändern: SESSION_DEFAULTS_LOCKED und DEFAULT_*.", isDefault: "Wie die Vorgabe für neue Sitzungen.",
      confirm: "Der Verlauf wird endgültig gelöscht. Gib zur Bestätigung den Titel ein:", cancel: "Abbrechen", save: "Speichern",
    },
    composer: {
      label: "Nachricht", idle: (agent) => `Nachricht an ${agent}`, running: (agent) => `Nachricht an ${agent} einreihen`,
      send: "Senden", steer: "Sofort senden", queue: "Einreihen", approval: "Rückfragen", sandbox: "Dateizugriff", model: "Modell", network: "Netzwerk",
      viewer: "Nur Ansicht. Wer Nachrichten senden will, braucht die Rolle Operator.", failed: "Nicht gesendet: ", unanswered: "Der Server hat nicht geantwortet. Sende noch einmal; es kommt nicht doppelt an.", unsent: "Der Server hat nicht geantwortet. Entferne das Bild und füge es neu hinzu.",
      anyModel: (name) => (name ? `${name} · Standard` : "Standardmodell"), effort: "Aufwand", anyEffort: (name) => (name ? `${efforts[name] ?? upper(name)} · Standard` : "Standard"),
      ofEffort: (name) => efforts[name] ?? upper(name), attach: "Bild hinzufügen", images: "Hinzugefügte Bilder", detach: (name) => `${name} entfernen`,
      noRoom: (name) => `${name} ist zu groß. Bilder dürfen höchstens 5 MB haben.`, uploading: (name) => `${name} wird hochgeladen`, noImage: (name) => `${name} ist kein Bild. Möglich sind PNG, JPEG, GIF und WebP.`,
    },
    access: {
      untrusted: "Erst fragen", "on-request": "Bei Bedarf fragen", "on-failure": "Nach einem Fehler fragen", never: "Nie fragen",
      "read-only": "Nur lesen", "workspace-write": "Im Ordner ändern", "danger-full-access": "Voller Zugriff", restricted: "Netzwerk aus", enabled: "Netzwerk an",
      plan: "Nur planen", default: "Erst fragen", acceptEdits: "Änderungen erlauben", bypassPermissions: "Alles erlauben",
    },
    trouble: {
      failed: "Dieser Durchgang ist fehlgeschlagen", retry: "Wiederholen", again: "Noch einmal senden", signIn: "Anmelden", agents: "Agenten", setUp: "Bevor es losgeht",
      retrying: (attempt, of) => `Das Modell ist nicht erreichbar · Versuch ${attempt}${of ? ` von ${of}` : ""}`,
      signedOut: (agent) => `${agent} ist nicht angemeldet.`, unavailable: (agent) => `${agent} ist nicht verfügbar.`, row: (why) => `Fehlgeschlagen: ${why}`,
    },
    fold: { lines: (count) => (count === 1 ? "Eine Zeile zeigen" : `Alle ${n(count, "Zeile", "Zeilen")} zeigen`), all: "Alles zeigen", less: "Weniger zeigen" },
    step: {
      commands: (count) => `${n(count, "Befehl", "Befehle")} ausgeführt`, edits: (count) => `${n(count, "Datei", "Dateien")} geändert`, thoughts: () => "nachgedacht",
      others: (count) => n(count, "weiterer Schritt", "weitere Schritte"), details: "Einzelheiten", applied: "Übernommen", exit: (code) => `Exit-Code ${code}`,
      running: "Läuft", done: "Fertig", failed: "Fehlgeschlagen", files: (count) => n(count, "Datei", "Dateien"), andMore: (paths, more) => `${paths} und ${more} weitere`,
      thought: "Überlegung", plan: "Plan", searched: (query) => `Gesucht nach „${query}“`, used: (tool) => `${tool} verwendet`,
    },
    decided: {
      command: "diesen Befehl", edit: "diese Änderung", accept: (who, what) => (who === null ? "Erlaubt" : `${who}: ${what} erlaubt`),
      decline: (who, why) => (who === null ? "Abgelehnt" : `${who}: abgelehnt`) + (why ? ` – „${why}“` : ""),
      cancel: "Mit dem Durchgang abgebrochen", expired: "Ohne Antwort abgelaufen", answered: (who) => (who === null ? "Beantwortet" : `Beantwortet von ${who}`),
    },
    background: { title: (count) => `${count} im Hintergrund`, since: (age) => `Seit ${age} im Hintergrund`, end: "Beenden" },
    queue: {
      title: "Eingereihte Nachrichten", edit: "Bearbeiten", drop: "Entfernen", up: "Nach oben", now: "Sofort senden", save: "Speichern", cancel: "Abbrechen", sending: "Wird gesendet…",
      held: (why) => `Nicht gesendet: ${why ?? "der Server nennt keinen Grund"}. Bearbeite, sende oder entferne sie.`, images: (count) => n(count, "Bild", "Bilder"), label: "Eingereihte Nachricht",
    },
    request: {
      needs: "Braucht dich", command: (agent) => `${agent} möchte einen Befehl ausführen`, files: (agent, count) => `${agent} möchte ${count === 0 ? "Dateien" : n(count, "Datei", "Dateien")} ändern`,
      tool: (agent, tool) => `${agent} möchte ${tool || "ein Werkzeug"} verwenden`, question: (agent) => `${agent} fragt`, permissions: (agent) => `${agent} möchte mehr Zugriff`,
      anAgent: "Ein Agent", approve: "Erlauben", session: "Für diese Sitzung erlauben", always: "Diesen Befehl immer erlauben", decline: "Ablehnen", why: "Mit Begründung ablehnen…",
      aims: { approve: "Enter erlaubt", session: "Enter erlaubt es für diese Sitzung", always: "Enter erlaubt es immer", decline: "Enter lehnt ab", reason: "Enter fragt nach der Begründung" }, cancels: "Esc bricht ab",
      aimed: (button, what) => `${button}: ${what}`, reason: "Was soll stattdessen geschehen? (optional)", answer: "Antworten", skip: "Überspringen", other: "Etwas anderes",
      several: "(mehrere möglich)", lines: "Antworten, eine pro Zeile", refuse: "Ablehnen", result: "Ergebnis", waiting: (age) => `Wartet seit ${age}`, in: (folder) => `in ${folder}`,
      you: "Du", declined: "abgelehnt", news: (session, line) => `${session} braucht dich: ${line}`,
    },
    inbox: {
      title: "Eingang", waiting: (count) => n(count, "Anfrage", "Anfragen"), none: "Alles erledigt. Hier erscheinen Anfragen von Agenten.",
      select: "Auswählen", approveSelected: (count) => `${count} ausgewählte erlauben`, willApprove: "Das wirst du erlauben:", notAll: (count) => `${count} nicht erlaubt: `,
      would: "Details der Anfrage", before: "Vor dieser Anfrage", open: "Sitzung öffnen",
    },
    settings: {
      who: "Du", may: { owner: "Darf alles", admin: "Darf alles", operator: "Darf Sitzungen starten und Anfragen entscheiden", viewer: "Darf lesen", ci: "Darf Einträge schreiben" },
      roles: { owner: "Eigentümer", admin: "Admin", operator: "Operator", viewer: "Leser", ci: "CI" },
      logout: "Abmelden", theme: "Farben", system: "Wie das System", light: "Hell", dark: "Dunkel", language: "Sprache",
      keys: "Tastenkürzel mit einem Buchstaben", keysNote: "G, J, K, X, ? und die Buchstaben auf einer Anfrage mit Fokus. Ein Buchstabe erlaubt nie etwas, nur Enter.", api: "API-Referenz",
      saved: "In diesem Browser gespeichert.",
    },
    server: {
      title: "Server", defaults: "Vorgaben für neue Sitzungen", started: "Konfiguration", all: "Auch unveränderte Einstellungen zeigen", none: "Nicht gesetzt",
      restart: "Ändere sie mit Flags, Umgebungsvariablen oder der Konfigurationsdatei und starte den Server neu.",
      sources: { flag: "Flag", environment: "Umgebungsvariable", ".env": ".env-Datei", file: "Konfigurationsdatei", default: "Vorgabe" },
    },
    message: {
      link: "Link kopieren", fork: "Hier abzweigen…", back: "Hierher zurück…", doBack: "Zurücksetzen", far: "Geh zuerst zum Neuesten und versuch es dann noch einmal.",
      backNote: (turns) => (turns === 0 ? "Es gibt nichts zurückzusetzen." : `Entfernt ${turns === 1 ? "den letzten Durchgang" : `die letzten ${n(turns, "Durchgang", "Durchgänge")}`} aus dem Gespräch. Dateien bleiben, wie sie sind.`),
      forkNote: (turns) => `Startet hier eine neue Sitzung${turns === 0 ? "" : turns === 1 ? ", ohne den letzten Durchgang" : `, ohne die letzten ${n(turns, "Durchgang", "Durchgänge")}`}. Diese Sitzung ändert sich nicht.`,
      restore: "Zurück vor diesen Durchgang…", doRestore: "Zurücksetzen", restored: "Zurückgesetzt",
      restoreNote: (files, turns) => `Entfernt ${turns === 1 ? "den letzten Durchgang" : `die letzten ${n(turns, "Durchgang", "Durchgänge")}`}${files === null ? ". Dateien bleiben, wie sie sind." : ` und nimmt Änderungen in ${n(files, "Datei", "Dateien")} zurück.`}`,
      changedSince: (files) => `Seitdem von jemand anderem geändert und auch zurückgesetzt: ${files}`,
      agentKnows: "Der Agent kennt dieses Gespräch weiterhin.",
      notCovered: "Ignorierte Dateien, Repositorys im Ordner, Commits, Datenbanken und alles außerhalb des Ordners bleiben, wie sie sind.",
      draft: "Der Text kommt zurück ins Nachrichtenfeld.",
      dropped: "Angehalten, bevor der Agent das gelesen hat.",
    },
    diff: { split: "Nebeneinander", unified: "Untereinander" },
    palette: {
      title: "Suche", note: "Sitzungen, Verläufe und Aktionen durchsuchen", none: "Keine Treffer. Versuch es mit weniger Wörtern.",
      behind: "Ältere Verläufe werden noch indexiert. Es können weitere Treffer dazukommen.", stop: "Diesen Durchgang anhalten",
    },
    keys: {
      title: "Tastenkürzel", off: "Tastenkürzel mit einem Buchstaben sind aus. Du kannst sie in den Einstellungen einschalten.",
      list: [
        ["Ctrl+K", "Suche"], ["/", "Suche"], ["?", "Diese Liste zeigen"], ["g s", "Sitzungen"], ["g n", "Neue Sitzung"], ["g i", "Eingang"], ["g j", "Jobs"], ["g e", "Ereignisse"], ["g u", "Verbrauch"], ["g x", "Erweiterungen"], ["g r", "Agenten"],
        ["g ,", "Einstellungen"], ["Enter", "Senden oder, während der Agent arbeitet, einreihen"], ["Ctrl+Enter", "Sofort senden, in den laufenden Durchgang"], ["Shift+Enter", "Neue Zeile"], ["Esc Esc", "Diesen Durchgang anhalten"],
        ["Y", "Auf einer Anfrage mit Fokus: auf Erlauben zielen (Enter erlaubt)"], ["S", "Auf „Für diese Sitzung erlauben“ zielen"], ["A", "Auf „Immer erlauben“ zielen"], ["N", "Auf Ablehnen zielen"], ["R", "Mit Begründung ablehnen"],
        ["J K", "Eingang: nächste, vorige"], ["X", "Eingang: auswählen"],
      ],
    },
    notify: {
      ask: "Möchtest du benachrichtigt werden, wenn ein Agent dich braucht?", yes: "Einschalten", no: "Jetzt nicht", request: "braucht dich", ended: "ist fertig", failed: "ist fehlgeschlagen",
      title: "Benachrichtigungen", on: "Wenn dieser Tab im Hintergrund ist", sound: "Ton abspielen", try: "Anhören", refused: "Benachrichtigungen sind blockiert. Erlaube sie für diese Seite in den Einstellungen deines Browsers.",
      push: "Wenn Harness geschlossen ist", pushNote: "Über den Push-Dienst deines Browsers, verschlüsselt für diesen Browser.", pushFailed: "Push-Benachrichtigungen ließen sich nicht einschalten: ",
      unable: "Push braucht HTTPS oder localhost, einen Browser mit Web Push und einen Server, der den Push-Dienst erreicht.",
      browsers: "Browser mit Benachrichtigungen", ownBrowser: "Dieser Browser", since: "Hinzugefügt", end: "Entfernen",
    },
    operator: { failed: "Konnte nicht geladen werden: ", updated: (age) => (age === null ? "Gerade aktualisiert" : `Vor ${age} aktualisiert`), again: "Noch einmal versuchen" },
    jobs: {
      title: "Jobs", none: "Noch keine Jobs. Lege einen über die API an.", all: "Alle", type: "Typ", state: "Status", owner: "Projekt", made: "Angelegt", attempts: "Versuche", took: "Dauer", pause: "Pausieren", go: "Weiter aktualisieren",
      payload: "Eingabe", result: "Ergebnis", error: "Fehler", timeline: "Ablauf", cancel: "Job abbrechen", source: "Gestartet aus Sitzung", worker: "Läuft in Sitzung", everyType: "Alle Typen", again: "Noch einmal ausführen",
      more: (count) => `Die neuesten ${count}. Ältere findest du mit Filtern.`, filter: "Nach Typ filtern", attempt: (count, of) => `Versuche: ${count}/${of}`,
      canceling: "Wird abgebrochen…", over: "Dieser Job ist schon zu Ende.",
      steps: { createdAt: "Angelegt", startedAt: "Gestartet", lastAttemptAt: "Letzter Versuch", nextAttemptAt: "Nächster Versuch", cancelRequestedAt: "Abbruch verlangt", completedAt: "Beendet" },
      states: { queued: "Eingereiht", running: "Läuft", completed: "Fertig", failed: "Fehlgeschlagen", canceled: "Abgebrochen" },
    },
    events: {
      title: "Ereignisse", none: "Keine passenden Ereignisse.", pos: "Position", time: "Zeit", type: "Typ", typeNote: "Genauer Typ oder ein Anfang mit *: turn/*", session: "Sitzung", actor: "Von", payload: "Ereignis",
      filter: "Anwenden", older: "Ältere", newest: "Neueste", pause: "Pausieren", go: "Weiter aktualisieren",
    },
    usage: {
      title: "Verbrauch", none: "Kein Verbrauch in diesem Zeitraum.", by: "Gruppieren nach", since: "Zeitraum", days: (count) => (count === 1 ? "Heute" : `Letzte ${n(count, "Tag", "Tage")}`), total: "Summe", noProject: "Kein Projekt", allProjects: "Alle Projekte",
      groups: { session: "Sitzung", project: "Projekt", model: "Modell", runtime: "Agent", day: "Tag" },
      columns: { requests: "Modellaufrufe", inputTokens: "Eingabe", cachedInputTokens: "Aus dem Cache", outputTokens: "Ausgabe", totalTokens: "Tokens" }, spend: "Kosten", csv: "Als CSV exportieren",
      perDay: (money) => `${money} am Tag`, cached: (percent) => `${percent} % aus dem Cache gelesen`, calls: (sessions) => `in ${n(sessions, "Sitzung", "Sitzungen")}`, top: (shown, of) => `Die größten ${shown} von ${of}`,
      spendPerDay: "Kosten pro Tag", tokensPerDay: "Tokens pro Tag", chart: (title, most, day) => `${title}: höchster Wert ${most} am ${day}`, asTable: "Als Tabelle zeigen",
      noPrice: "Kein Preis", atLeast: (money) => `${money} oder mehr`, without: (tokens) => `${tokens} Tokens haben keinen Preis`, unknown: "Unbekanntes Modell",
      unpriced: (models, tokens) => `Kein Preis für ${models}: In den Kosten fehlen ${tokens} Tokens.`, setPrice: "Preis festlegen",
    },
    prices: {
      title: "Preise", note: (day) => `US-Dollar pro Million Tokens. Eingebaute Preise sind Listenpreise vom ${day}.`, model: "Modell", modelHint: "Modell oder Anfang mit *", input: "Eingabe", cached: "Eingabe aus dem Cache", output: "Ausgabe", from: "Gültig ab", always: "Immer",
      builtIn: "Eingebaut", save: "Preis speichern", remove: (model) => `Preis von ${model} entfernen`,
    },
    extensions: {
      title: "Erweiterungen", none: "Noch keine Erweiterungen. Lege eine in den Ordner für Erweiterungen und lade neu.", reload: "Neu laden", reloaded: (count) => `${n(count, "Erweiterung", "Erweiterungen")} geladen`,
      refused: "Nichts wurde geändert. Behebe das und lade neu:", loaded: "Geladen", snapshot: "Stand", agent: "ID", events: "Reagiert auf", declared: "Berechtigungen", origin: "Quelle", diagnostics: "Meldungen",
      well: "OK", nothing: "Keine", untrusted: "Noch nicht vertraut, läuft darum nicht", trust: "Um ihr zu vertrauen, führe auf dem Server aus:",
      trusted: { accepted: "Vertraut", accepted_with_warnings: "Vertraut, mit Warnungen", denied: "Abgelehnt" },
    },
    runtimes: {
      title: "Agenten", waits: (count) => `${n(count, "Sitzung wartet", "Sitzungen warten")} auf einen Prozess`, turns: "Durchgänge", messages: "Nachrichten", of: (now, most) => `${now} von ${most}`,
      processes: "Prozesse", can: "Unterstützt", cannot: "Unterstützt nicht", login: "Anmelden", logins: "Anmeldung", found: "Angemeldet", missing: "Nicht angemeldet", unknown: "Unbekannt", standard: "Standard",
      credentials: { apiKey: "API-Schlüssel", login: "Konto", cloud: "Cloud" },
      pid: "PID", shim: "Supervisor-PID", since: "seit", noProcess: "Läuft nicht. Startet mit der nächsten Nachricht.", tested: "Getestet mit", install: "Installieren mit",
      page: "Öffne diese Seite und gib den Code ein:", code: "Code von der Seite", done: "Weiter", key: "API-Schlüssel", send: "Speichern", complete: "Angemeldet.", started: "Diese Seite aktualisiert sich, wenn du fertig bist.",
      states: { starting: "Startet", ready: "Bereit", unavailable: "Funktioniert nicht", stopped: "Gestoppt", unresponsive: "Antwortet nicht", busy: "Beschäftigt", idle: "Untätig", running: "Läuft" },
      abilities: {
        steer: "Nachrichten in den laufenden Durchgang", rollback: "Zurücksetzen", fork: "Abzweigen", compact: "Verdichten", review: "Review", archive: "Archivieren", images: "Bilder", dynamicTools: "Werkzeuge der Sitzung",
        denyReason: "Begründetes Ablehnen", approveForSession: "Erlauben für die Sitzung", plan: "Plan", usage: "Verbrauch", subagents: "Unteragenten", selfStartedTurns: "Eigene Durchgänge",
        parallelToolCalls: "Gleichzeitige Werkzeugaufrufe", nativeToolsOff: "Eigene Werkzeuge abschaltbar", ownedTools: "Werkzeuge der Sitzung", processPer: "Ein Prozess pro", implicitSources: "Liest von selbst",
        sandboxes: "Dateizugriff", approvalPolicies: "Rückfragen", networkAccess: "Netzwerk", unasked: "Ohne Rückfrage",
      },
    },
    login: {
      title: "Bei Harness anmelden", token: "Zugangstoken", button: "Anmelden", at: (provider) => `Weiter mit ${provider}`, or: "oder", show: "Token anzeigen", hide: "Token verbergen",
      where: "Kein Token? Führe auf dem Server harness open aus, oder lege dort eines an: harness tokens create NAME --role operator.",
      again: "Du wurdest abgemeldet. Melde dich wieder an; deine Entwürfe bleiben erhalten.",
    },
    talk: {
      archived: "Archiviert", archivedBy: (who, day) => `Archiviert${who ? ` von ${who}` : ""} · ${day}`,
      you: "dir", unknown: "Unbekannt", actors: { token: "Eigentümer", local: "Dieser Rechner" }, program: "CI", agent: "Agent", fixed: "Fest für diese Sitzung", access: "Zugriff", custom: "Eigene", rules: "Eigene Regeln …", on: "An", off: "Aus",
      openNetwork: "Ohne Sandbox ist das Netz immer an.",
      presets: {
        read: ["Nur lesen", "Liest Dateien. Schreiben scheitert auch nach einer Genehmigung."], ask: ["Vorher fragen", "Bearbeitet diesen Ordner und führt Befehle aus, fragt aber jedes Mal."],
        edit: ["Frei bearbeiten", "Arbeitet in diesem Ordner ohne Rückfrage. Fragt, bevor der Agent ihn verlässt."], full: ["Voller Zugriff", "Keine Sandbox, Netz an, keine Rückfragen. Für Wegwerf-Rechner."],
      },
      reach: { "read-only": "Darf nur lesen", "workspace-write": "Darf in diesem Ordner schreiben", "danger-full-access": "Keine Sandbox" }, noNetwork: "Kein Netz",
      moreApprove: "Weitere Arten zu genehmigen", moreDecline: "Weitere Arten abzulehnen", moreSend: "Weitere Arten zu senden", deciding: "Deine Entscheidung wird gesendet …", operators: "Nur Operatoren können entscheiden.",
      others: (count) => n(count, "weitere Anfrage", "weitere Anfragen"), next: (agent) => `Sag ${agent}, wie es weitergeht`,
      running: (line) => `Führt ${line} aus`, editing: (file) => `Bearbeitet ${file || "Dateien"}`, writing: "Schreibt", thinking: "Denkt nach", waits: "Braucht dich", turn: (clock) => `Runde ${clock}`,
      reads: (count) => `${n(count, "Datei", "Dateien")} gelesen`, commands: (count) => n(count, "Befehl", "Befehle"), edits: (count) => n(count, "Änderung", "Änderungen"), interrupted: (after) => `Nach ${after} unterbrochen`,
      lost: "Bild nicht mehr gespeichert", close: "Schließen", asText: "Als Text öffnen",
      unsent: "Noch nicht gesendete Nachrichten", willSend: "Wird gesendet, sobald der Server wieder da ist", notSent: (time) => `Seit ${time} nicht gesendet`,
      share: (percent) => `${percent} % Kontext`, showPanel: "Seitenleiste rechts zeigen", hidePanel: "Seitenleiste rechts verbergen", noChanges: "Noch keine Änderungen.", byAgent: "Vom Agenten geändert", sinceStart: "Seit der ersten Nachricht", binary: "Eine Binärdatei.", skipped: (count) => `${n(count, "Pfad", "Pfade")} nicht verglichen`, alsoIn: "auch in einer anderen Sitzung", whoWrote: "Wer schrieb diese Zeilen?", unclear: "Unklar", noTurn: "Nicht in einem Durchgang geschrieben", allowedBy: (name) => `erlaubt von ${name}`, otherSession: "eine andere Sitzung",
      move: "In Projekt verschieben …", moveDo: "Verschieben", copyLink: "Link kopieren", copyId: "ID kopieren", export: (format) => `Als ${format} exportieren`, compact: "Kontext verdichten",
    },
    files: {
      mention: "Datei erwähnen",
      title: "Dateien", empty: "Ein leerer Ordner.", more: "Mehr anzeigen", cut: "Dieser Ordner hat mehr Einträge, als hier stehen.", copy: "Pfad kopieren", range: (shown, all) => `Die ersten ${shown} von ${all}`,
      closed: { secret: "Geheim", version_control: "Versionsverwaltung", server: "Gehört dem Server", outside: "Führt aus dem Ordner", special: "Besondere Datei", name: "Name ist kein UTF-8" },
    },
    broken: "Auf dieser Seite ist etwas schiefgegangen.",
    missing: "Diese Seite gibt es nicht.", toSessions: "Zu den Sitzungen",
    picture: (at) => `Bild ${at}`,
    became: { declined: "Abgelehnt", canceled: "Abgebrochen", expired: "Abgelaufen", failed: "Fehlgeschlagen", stopped: "Unterbrochen" },
    stopped: "Angehalten", stoppedBy: (who) => `Angehalten von ${who}`,
    side: {
      main: "Hauptmenü", manage: "Verwalten", new: "Neu", searchKey: (mac) => (mac ? "⌘ K" : "Strg K"), hide: "Seitenleiste ausblenden", open: "Seitenleiste öffnen",
      general: "Allgemein", people: "Personen und Tokens", projects: "Projekte", server: "Server", requests: (count) => n(count, "Anfrage", "Anfragen"), archived: "Archiviert.", undo: "Rückgängig", dismiss: "Schließen",
      filter: "Anzeigen", project: "Projekt", everyProject: "Alle Projekte", groups: { waiting: "Braucht dich", running: "Läuft", today: "Heute", yesterday: "Gestern", week: "Diese Woche" },
      filters: { all: "Alle Sitzungen", waiting: "Braucht dich", running: "Läuft", failed: "Fehlgeschlagen", unread: "Ungelesen", archived: "Archiviert" }, running: (what) => `Führt aus: ${what}`, editing: (what) => `Bearbeitet ${what}`, menu: (title) => `Weitere Aktionen: ${title}`,
      unread: "Als ungelesen markieren", copyLink: "Link kopieren", archive: "Archivieren", unarchive: "Wiederherstellen",
    },
    start: {
      worktree: "Neuer Worktree", onBranch: (branch) => `Neuer Worktree auf dem Branch ${branch}`,
      title: "Was soll der Agent tun?", welcome: "Willkommen bei Harness", about: "Lass Coding-Agenten auf diesem Server arbeiten, sieh ihnen zu und entscheide, was sie dürfen.",
      label: "Erste Nachricht", hint: "Beschreibe eine Aufgabe", first: "Zum Beispiel: „Erkläre, wie dieses Projekt gebaut wird, und führe seine Tests aus.“", start: "Starten", viewer: "Wähle eine Sitzung aus der Liste. Nur Operatoren können Sitzungen starten.",
      folder: "Ordner", anyFolder: "Ordner des Servers", recent: "Zuletzt benutzte Ordner", matching: "Passende Ordner auf dem Server", complete: "Gib einen Pfad ein; Tab vervollständigt ihn.", noGit: "kein Git", more: "Tippe weiter, um andere Ordner zu sehen.",
      running: (count) => `${count} aktiv`, needsYou: (count) => (count === 1 ? "1 braucht dich" : `${count} brauchen dich`), ago: (age) => `vor ${age}`,
      setUp: "Agent, Modell, Zugriff", agent: "Agent", access: "Zugriff", standard: "Standard", rules: "Eigene Regeln …", custom: "Eigene",
      before: "Bevor du anfängst", todo: (count) => (count === 0 ? "Alles bereit" : count === 1 ? "1 Schritt offen" : `${count} Schritte offen`), ready: (agent) => `${agent} ist bereit`, missing: (agent) => `${agent} ist nicht installiert`,
      signedOut: (agent) => `${agent} ist nicht angemeldet`, unable: (agent) => `${agent} ist nicht verfügbar`, version: (version) => `Version ${version}`, serverReady: "Der Server läuft", serverNotReady: "Der Server ist nicht bereit",
      presets: { read: "Nur lesen", ask: "Erst fragen", edit: "Frei bearbeiten", full: "Voller Zugriff" },
      sentences: { read: "Liest und ändert nichts.", ask: "Fragt, bevor er etwas ändert oder ausführt.", edit: "Ändert Dateien im Ordner und fragt bei allem anderen.", full: "Fragt nie. Ohne Sandbox, mit offenem Netz." },
    },
    find: {
      sessions: "Sitzungen", transcripts: "In Verläufen", actions: "Aktionen", open: "Öffnen", jump: "Hinspringen", fresh: (said) => `Neue Sitzung: „${said}“`, keys: "Enter öffnet · ↑ ↓ bewegt · Esc schließt", archived: "archiviert",
    },
    set: {
      appearance: "Darstellung", keyboard: "Tastatur", still: "Weniger Bewegung", stillNote: "Folgt dem System, solange du es nicht einschaltest.", allKeys: "Alle Tastenkürzel", show: "Anzeigen", others: "Einstellungen des Servers stehen unter",
      needs: { work: "Für diese Seite brauchst du die Rolle Operator.", administer: "Für diese Seite brauchst du die Rolle Admin." },
      tokens: "Tokens", people: "Personen", role: "Rolle", tokenName: "Name des Tokens", createToken: "Token erstellen", once: "Kopiere dieses Token jetzt. Es wird nicht noch einmal angezeigt.", done: "Fertig", noTokens: "Noch keine Tokens.",
      created: (day, by) => `Erstellt am ${day} von ${by}`, expires: (day) => `gültig bis ${day}`, revoke: (name) => `${name} widerrufen`,
      projectName: "Name des Projekts", projectFolder: "Ordner (optional)", createProject: "Projekt erstellen", noProjects: "Noch keine Projekte. Ein Projekt fasst Sitzungen zusammen und kann einen eigenen Ordner haben.", rename: "Umbenennen", removeProject: (name) => `${name} löschen`,
    },
    ages: { now: "jetzt", minutes: (count) => `${count} min`, hours: (count) => `${count} h`, days: (count) => `${count} T.` },
  };
}

const efforts: Record<string, string> = { none: "Keiner", minimal: "Minimal", low: "Niedrig", medium: "Mittel", high: "Hoch", xhigh: "Sehr hoch" };
