// The path that is written behind an @ in a message.

/** A mention begins behind its @, and ends where the caret stands. */
export type Mention = { from: number; /** The folder that was written, with its slash. */ folder: string; /** What its name begins with. */ name: string };

/** mentionAt is the mention before the caret, null where there is none: an @ within a word is not one. */
export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(?:^|\s)@(\S*)$/.exec(text.slice(0, caret));
  if (!found) return null;
  const path = found[1]!;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { from: caret - path.length, folder: path.slice(0, path.length - name.length), name };
}

/** fitting are the entries whose names begin with a text, then those that have it elsewhere. */
export function fitting<E extends { name: string }>(entries: E[], typed: string, most: number): E[] {
  const at = (entry: E) => entry.name.toLowerCase().indexOf(typed.toLowerCase());
  return [...entries.filter((entry) => at(entry) === 0), ...entries.filter((entry) => at(entry) > 0)].slice(0, most);
}
