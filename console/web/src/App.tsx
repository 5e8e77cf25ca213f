import type { ReactNode } from "react";
import { Link as To, Route, Router, Switch } from "wouter";
import type { Client } from "./client";
import { Extensions } from "./pages/Extensions";
import { Inbox } from "./pages/Inbox";
import { Events } from "./pages/Events";
import { Jobs } from "./pages/Jobs";
import { Login } from "./pages/Login";
import { Runtimes } from "./pages/Runtimes";
import { Start } from "./pages/Start";
import { Manage, Sessions } from "./pages/Sessions";
import { SessionPage } from "./pages/SessionPage";
import { Settings } from "./pages/Settings";
import { Usage } from "./pages/Usage";
import { text } from "./text";
import { Broken } from "./ui/Broken";
import { ClientContext, useClient, useSignal } from "./ui/hooks";
import { Shell } from "./ui/Shell";
import { phone, useMedia } from "./ui/shellContext";

/** First is the shell of index.html, until the server has answered. */
function First({ says }: { says: string }) {
  return <div className="first"><div><b>Harness</b><i /><i /><i /></div><div><p className="dim" role="status">{says}</p><i /><i /><i /></div></div>;
}

function Pages() {
  const client = useClient();
  useSignal(client.signal);
  const isPhone = useMedia(phone);
  const needs = (page: ReactNode) => (client.may("work") ? page : <p className="pad">{text.set.needs.work}</p>);
  if (client.state === "login") return <Login />;
  if (!client.me) return <First says={client.notice ?? text.link.first} />;
  return (
    <Shell>
      <Switch>
        <Route path="/">{isPhone && !client.may("work") ? <Sessions /> : <Start />}</Route>
        <Route path="/sessions">{isPhone ? <Sessions /> : <Start />}</Route>
        <Route path="/login"><Start /></Route>
        <Route path="/manage">{isPhone ? <Manage /> : <Usage />}</Route>
        <Route path="/s/:id">{({ id }) => <SessionPage key={id} sessionId={decodeURIComponent(id)} />}</Route>
        <Route path="/inbox"><Inbox /></Route>
        <Route path="/jobs">{needs(<Jobs />)}</Route>
        <Route path="/events">{needs(<Events />)}</Route>
        <Route path="/usage"><Usage /></Route>
        <Route path="/extensions">{needs(<Extensions />)}</Route>
        <Route path="/runtimes"><Runtimes /></Route>
        <Route path="/settings"><Settings topic="general" /></Route>
        <Route path="/settings/:topic">{({ topic }) => <Settings topic={topic} />}</Route>
        <Route><p className="pad">{text.missing} <To href="/">{text.toSessions}</To></p></Route>
      </Switch>
    </Shell>
  );
}

export function App({ client }: { client: Client }) {
  const base = new URL(client.base).pathname.replace(/\/$/, "");
  return (
    <ClientContext.Provider value={client}>
      <Broken><Router base={base}><Pages /></Router></Broken>
    </ClientContext.Provider>
  );
}
