import { icons } from "./icons";

export type IconName = keyof typeof icons;

/** Icon is decoration: what it stands for is beside it as text, or in the label of its button. */
export function Icon({ name, className }: { name: IconName; className?: string }) {
  return <svg className={className ? `i ${className}` : "i"} viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d={icons[name]} /></svg>;
}
