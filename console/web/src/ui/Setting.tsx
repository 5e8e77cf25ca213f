import { useId, type ReactNode } from "react";

/** Section is a list of settings under a title. */
export function Section({ title, children, label }: { title: string; children: ReactNode; label?: string }) {
  return <section aria-label={label ?? title}><h2>{title}</h2><ul className="items">{children}</ul></section>;
}

/** Setting is one line: what it is at the left, how to change it at the right. */
export function Setting({ label, note, children }: { label: ReactNode; note?: ReactNode; children?: ReactNode }) {
  return <li><span className="grow">{label}{note && <p>{note}</p>}</span>{children}</li>;
}

type SwitchProps = { label: string; note?: string | undefined; on: boolean; change: (on: boolean) => void; disabled?: boolean; beside?: ReactNode };

/** Switch is a setting that is on or off. */
export function Switch({ label, note, on, change, disabled, beside }: SwitchProps) {
  const id = useId();
  return (
    <li>
      <label className="grow" htmlFor={id}>{label}{note && <p id={`${id}-note`}>{note}</p>}</label>
      {beside}
      <input id={id} type="checkbox" role="switch" checked={on} disabled={disabled} aria-describedby={note ? `${id}-note` : undefined} onChange={(e) => change(e.target.checked)} />
    </li>
  );
}
