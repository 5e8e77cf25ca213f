// What the server answers, by path and method, as api/openapi.yaml has it.
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

type Body<R> = R extends { content: { "application/json": infer B } } ? B : never;

/** Answer is the body of an operation's 200 or 202. */
export type Answer<P extends keyof paths, M extends keyof paths[P] = "get" & keyof paths[P]> =
  paths[P][M] extends { responses: infer R } ? Body<R extends { 200: infer Ok } ? Ok : R extends { 202: infer Taken } ? Taken : never> : never;

export type Runtime = Schemas["Runtime"];
export type Module = Schemas["Module"];
export type Job = Schemas["Job"];
export type Project = Schemas["Project"];
