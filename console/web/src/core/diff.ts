// Unified diffs as rows; what is no diff (a new file's text) becomes one.

export type DiffRow = { kind: "hunk" | "same" | "add" | "del"; old?: number; new?: number; text: string };
export type FileDiff = { path: string; kind: string; added: number; removed: number; rows: DiffRow[] };

/** A change as a runtime reports it: the diff of an update, the text of an added or deleted file. */
export type Change = { path: string; kind?: unknown; diff?: string; content?: string };

const kindOf = (kind: unknown): string =>
  typeof kind === "string" ? kind : ((kind as { type?: string } | undefined)?.type ?? "update");

export function fileDiff(change: Change): FileDiff {
  const kind = kindOf(change.kind);
  const text = change.diff ?? change.content ?? "";
  const rows = /^@@ /m.test(text) ? parse(text) : whole(text, kind === "delete" ? "del" : "add");
  const count = (wanted: DiffRow["kind"]) => rows.reduce((n, row) => n + (row.kind === wanted ? 1 : 0), 0);
  return { path: change.path, kind, added: count("add"), removed: count("del"), rows };
}

function whole(text: string, kind: "add" | "del"): DiffRow[] {
  if (text === "") return [];
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  return lines.map((line, i) => (kind === "add" ? { kind, new: i + 1, text: line } : { kind, old: i + 1, text: line }));
}

function parse(text: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let [old, next, inHunk] = [0, 0, false];
  for (const line of text.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      [old, next, inHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      rows.push({ kind: "hunk", text: line });
    } else if (!inHunk) {
      continue;
    } else if (line.startsWith("+")) rows.push({ kind: "add", new: next++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "del", old: old++, text: line.slice(1) });
    else if (line.startsWith(" ")) rows.push({ kind: "same", old: old++, new: next++, text: line.slice(1) });
  }
  return rows;
}

/** A line of a diff side by side: what was on the left, what is on the right; a hunk's head over both. */
export type DiffPair = { hunk?: string; left?: DiffRow; right?: DiffRow };

/** pairs puts what was taken away beside what came in its place. */
export function pairs(rows: DiffRow[]): DiffPair[] {
  const made: DiffPair[] = [];
  let [gone, come]: [DiffRow[], DiffRow[]] = [[], []];
  const close = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++) made.push({ left: gone[i], right: come[i] });
    [gone, come] = [[], []];
  };
  for (const row of rows) {
    if (row.kind === "del") {
      if (come.length > 0) close();
      gone.push(row);
    } else if (row.kind === "add") come.push(row);
    else {
      close();
      made.push(row.kind === "hunk" ? { hunk: row.text } : { left: row, right: row });
    }
  }
  close();
  return made;
}
