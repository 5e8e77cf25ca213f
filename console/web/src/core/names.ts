// Names of people and of files, as a transcript shows them.
import { text } from "../text";
import type { Author, Session } from "./types";

/** actorName is what people call an actor without a name of its own: the owner, a program of this machine, or a token. */
export const actorName = (actor: string) => text.talk.actors[actor] ?? actor.replace(/^token:/, "");

/** named is what people call an author. */
export const named = ({ name, actor }: Author) => name || actorName(actor);

/** initials are those of a name: of its first and last part, without the host of an address. */
export function initials(name: string): string {
  const parts = name.replace(/@.*/, "").split(/[\s._:-]+/).filter(Boolean);
  return ((parts[0]?.[0] ?? "?") + (parts.length > 1 ? parts.at(-1)![0] : "")).toUpperCase();
}

/** within is a path as it is seen from a folder. */
export function within(path: string, folder: string | undefined): string {
  const start = folder ? `${folder.replace(/\/$/, "")}/` : "";
  return start && path.startsWith(start) ? path.slice(start.length) : path;
}

/** size is a number of bytes, as people read it. */
export function size(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  for (; bytes >= 1000 && at < units.length - 1; at++) bytes /= 1000;
  return `${at > 0 && bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

/** titleOf is a session's title; what the server calls one without a message is said in the page's language. */
export const titleOf = ({ title, titleSource }: Session) => (title === "" || (titleSource !== "user" && title === "New session") ? text.list.fresh : title);
