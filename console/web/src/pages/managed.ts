// The pages of those who run the server, in one file of the build.
export { Events } from "./Events";
export { Extensions } from "./Extensions";
export { Jobs } from "./Jobs";
export { Runtimes } from "./Runtimes";
export { Settings } from "./Settings";
export { Usage } from "./Usage";
