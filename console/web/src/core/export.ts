// A transcript as a file.
import { changesOf, command, decides, isMessage, title } from "./entries";
import { fileDiff } from "./diff";
import type { Entry } from "./types";

const fence = (said: string, lang = "") => {
  const ticks = "`".repeat(Math.max(3, ...[...said.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${ticks}${lang}\n${said.replace(/\n$/, "")}\n${ticks}`;
};

const signs = { add: "+", del: "-", same: " ", hunk: "" } as const;

function partOf(entry: Entry, nameOf: (entry: Entry) => string): string {
  const said = entry.texts.text ?? "";
  if (isMessage(entry)) return `## ${nameOf(entry)}\n\n${said}`;
  if (decides(entry)) return "";
  if (entry.type === "commandExecution") return fence(`$ ${command(entry)}\n${entry.texts.output ?? ""}`);
  if (entry.type === "fileChange") {
    return changesOf(entry.item).map(fileDiff).map((file) => `${file.path}\n\n${fence(file.rows.map((row) => signs[row.kind] + row.text).join("\n"), "diff")}`).join("\n\n");
  }
  return `> ${(said || title(entry)).replaceAll("\n", "\n> ")}`;
}

/** markdownOf is a transcript as Markdown: what was said, what was done, and what became of it. */
export function markdownOf(heading: string, entries: Entry[], nameOf: (entry: Entry) => string): string {
  return [`# ${heading}`, ...entries.map((entry) => partOf(entry, nameOf)).filter(Boolean)].join("\n\n") + "\n";
}
