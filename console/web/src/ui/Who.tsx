import type { ReactNode } from "react";
import { initials } from "../core/names";
import { timeOf } from "../core/time";
import { Icon } from "./Icon";

/** Who heads a message: who wrote it, and when. A program has an icon in place of initials. */
export function Who({ name, program = false, at, children }: { name: string; program?: boolean; at?: number | undefined; children?: ReactNode }) {
  return (
    <header className="who">
      <span className={program ? "avatar agent" : "avatar"} aria-hidden="true">{program ? <Icon name="bot" /> : initials(name)}</span>
      <b className="clip">{name}</b>
      {at && <time className="dim" dateTime={new Date(at).toISOString()}>{timeOf(at)}</time>}
      {children}
    </header>
  );
}
