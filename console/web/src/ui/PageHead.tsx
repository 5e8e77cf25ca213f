import type { ReactNode } from "react";
import { since } from "../core/time";
import { text } from "../text";
import { useNow } from "./hooks";
import type { Asked } from "./useAnswer";

/** PageHead is the title of an operator's page, how old what it shows is, and why it is not newer. */
export function PageHead({ title, asked, children }: { title: string; asked: Asked<unknown>; children?: ReactNode }) {
  const now = useNow(10_000);
  return (
    <>
      <header className="head">
        <h1>{title}</h1>
        {asked.at > 0 && <span className="dim">{text.operator.updated(now - asked.at < 60_000 ? null : since(now - asked.at))}</span>}
        <span className="grow" />
        {children}
      </header>
      {asked.failure && <p className="failure pad" role="alert">{text.operator.failed}{asked.failure} <button type="button" onClick={asked.again}>{text.operator.again}</button></p>}
    </>
  );
}
