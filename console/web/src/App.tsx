import type { ReactNode } from "react";
import { Link as To, Route, Router, Switch } from "wouter";
import type { Client } from "./client";
import { Login } from "./pages/Login";
import { Manage, Sessions } from "./pages/Sessions";
import { SessionPage } from "./pages/SessionPage";
import { text } from "./text";
import { Broken } from "./ui/Broken";
import { ClientContext, useClient, useSignal } from "./ui/hooks";
import { later } from "./ui/later";
import { Shell } from "./ui/Shell";
import { phone, useMedia } from "./ui/shellContext";

const begin = () => import("./pages/Start");
const managed = () => import("./pages/managed");
if (!location.pathname.includes("/s/")) begin().catch(() => {}); // beside the first requests; a failure shows when it is drawn

// Pages are loaded when they are first drawn. The session page is not: it is what most addresses are of.
const Events = later(async () => (await managed()).Events);
const Extensions = later(async () => (await managed()).Extensions);
const Inbox = later(async () => (await import("./pages/Inbox")).Inbox);
const Jobs = later(async () => (await managed()).Jobs);
const Runtimes = later(async () => (await managed()).Runtimes);
const Settings = later(async () => (await managed()).Settings);
const Start = later(async () => (await begin()).Start);
const Usage = later(async () => (await managed()).Usage);

/** First is the shell of index.html, until the server has answered. */
function First() {
  const client = useClient();
  return (
    <div className="first">
      <div><b>Harness</b><i /><i /><i /></div>
      <div>
        <p className="dim" role="status">{client.notice ?? text.link.first}</p>
        {client.notice && <p><button type="button" onClick={() => client.tryNow()}>{text.link.again}</button></p>}
        <i /><i /><i />
      </div>
    </div>
  );
}

function Pages() {
  const client = useClient();
  useSignal(client.signal);
  const isPhone = useMedia(phone);
  const needs = (page: ReactNode) => (client.may("work") ? page : <p className="pad">{text.set.needs.work}</p>);
  if (client.state === "login") return <Login />;
  if (!client.me) return <First />;
  return (
    <Shell>
      <Broken>
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
      </Broken>
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
