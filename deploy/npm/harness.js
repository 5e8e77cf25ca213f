#!/usr/bin/env node
// Starts the program of this platform, which npm installed beside this package.
'use strict'
const { spawn } = require('node:child_process')

const name = `@harness/cli-${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/bin/harness`)
} catch {
  console.error(`harness: there is no program for ${process.platform}/${process.arch} (package ${name}). Where npm leaves optional ` +
    'packages out (--omit=optional), install it by name.')
  process.exit(1)
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`harness: ${program} does not start: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  } else {
    process.exit(code)
  }
})
