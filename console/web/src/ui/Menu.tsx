import { Fragment, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { Layer } from "./Layer";

/** What a menu offers. `apart` draws a line above it; `touch` shows it only where nothing hovers. */
export type Item = { label: string; icon?: IconName; run: () => void; bad?: boolean; disabled?: boolean; hint?: ReactNode; apart?: boolean; touch?: boolean };

type MenuProps = { label: string; items: Item[]; children: ReactNode; className?: string; disabled?: boolean; data?: Record<`data-${string}`, unknown> };

const steps: Record<string, (at: number, n: number) => number> = {
  ArrowDown: (at, n) => (at + 1) % n, ArrowUp: (at, n) => (at - 1 + n) % n, Home: () => 0, End: (_, n) => n - 1,
};

/** Menu is a button that opens a list of actions. */
export function Menu({ label, items, children, className = "", disabled, data }: MenuProps) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const onKeyDown = (e: KeyboardEvent<HTMLDivElement>) => {
    const all = [...e.currentTarget.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)")].filter((el) => el.offsetParent !== null || el.offsetHeight > 0);
    if (e.key === "Tab") setOpen(false);
    const step = steps[e.key];
    if (!step || all.length === 0) return;
    e.preventDefault();
    all[step(all.indexOf(document.activeElement as HTMLElement), all.length)]!.focus();
  };
  return (
    <>
      <button ref={button} type="button" className={className} aria-label={label} title={label} aria-haspopup="menu" aria-expanded={open} disabled={disabled} {...data} onClick={() => setOpen(!open)}>{children}</button>
      {open && (
        <Layer anchor={button} close={() => setOpen(false)} role="menu" label={label} className="menu" onKeyDown={onKeyDown}>
          {items.map((item) => (
            <Fragment key={item.label}>
              {item.apart && <div className="separator" role="separator" />}
              <button type="button" role="menuitem" tabIndex={-1} className={item.bad ? "menu-item bad" : "menu-item"} data-touch={item.touch || undefined} disabled={item.disabled}
                onClick={() => { setOpen(false); button.current?.focus(); item.run(); }}>
                {item.icon && <Icon name={item.icon} />}
                <span className="grow">{item.label}</span>
                {item.hint}
              </button>
            </Fragment>
          ))}
        </Layer>
      )}
    </>
  );
}
