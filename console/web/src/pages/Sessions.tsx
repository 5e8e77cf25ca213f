import { text } from "../text";
import { Icon } from "../ui/Icon";
import { ManageLinks } from "../ui/Sidebar";
import { useShell } from "../ui/shellContext";
import { SessionList } from "./SessionList";

/** Sessions is the list as a page of a phone. */
export function Sessions() {
  const { show } = useShell();
  return (
    <div className="operator">
      <header className="head"><h1 className="grow">{text.nav.sessions}</h1><button type="button" className="ghost icon" aria-label={text.palette.title} onClick={() => show("search")}><Icon name="search" /></button></header>
      <SessionList />
    </div>
  );
}

/** Manage lists the pages of those who run the server, for a phone. */
export function Manage() {
  return (
    <div className="operator">
      <header className="head"><h1>{text.side.manage}</h1></header>
      <nav className="side-nav scroll" aria-label={text.side.manage}><ManageLinks /></nav>
    </div>
  );
}
