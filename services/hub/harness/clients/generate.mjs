// Writes the typed clients of an OpenAPI document: generate.mjs openapi.json DIRECTORY. What the directory has of an
// earlier run is replaced.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import { pythonClient, pythonModels } from './python.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const own = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))

// check runs a program of the installed packages in a directory, and ends where it finds something.
function check(directory, program, ...args) {
  const done = spawnSync(process.execPath, [join(here, 'node_modules', program), ...args], { cwd: directory, encoding: 'utf8' })
  if (done.status !== 0) {
    process.stderr.write(`${program} ${args.join(' ')}: ${done.error ?? ''}\n${done.stdout}${done.stderr}`)
    process.exit(1)
  }
}

async function typescript(doc, out) {
  mkdirSync(out, { recursive: true })
  const types = astToString(await openapiTS(doc, { defaultNonNullable: false }))
  writeFileSync(join(out, 'schema.ts'), '// Generated from the OpenAPI document of Parley.\n\n' + types)
  copyFileSync(join(here, 'index.ts'), join(out, 'index.ts'))
  const json = (name, value) => writeFileSync(join(out, name), JSON.stringify(value, null, 2) + '\n')
  json('package.json', {
    name: 'parley-client', version: /^v(\d+\.\d+\.\d+.*)$/.exec(doc.info.version)?.[1] ?? '0.0.0', private: true, type: 'module',
    main: 'index.js', types: 'index.d.ts', dependencies: { 'openapi-fetch': own.dependencies['openapi-fetch'] },
  })
  json('tsconfig.json', {
    compilerOptions: {
      target: 'es2022', module: 'nodenext', strict: true, declaration: true, noUncheckedIndexedAccess: true,
      types: ['node'],
    },
    include: ['*.ts'], exclude: ['*.d.ts'],
  })
  check(out, 'typescript/bin/tsc', '-p', '.')
}

async function python(doc, out) {
  const to = join(out, 'parley')
  mkdirSync(to, { recursive: true })
  const models = await pythonModels(doc)
  writeFileSync(join(to, 'models.py'), models)
  writeFileSync(join(to, 'client.py'), pythonClient(doc, models))
  writeFileSync(join(to, 'py.typed'), '')
  for (const name of ['__init__.py', 'transport.py']) copyFileSync(join(here, 'parley', name), join(to, name))
  check(out, 'pyright/index.js', '--pythonversion', '3.9', 'parley')
}

const [from, to] = process.argv.slice(2)
if (!from || !to) {
  process.stderr.write('usage: generate.mjs openapi.json DIRECTORY\n')
  process.exit(2)
}
const doc = JSON.parse(readFileSync(from, 'utf8'))
const out = resolve(to)
for (const name of ['typescript', 'python']) rmSync(join(out, name), { recursive: true, force: true })
mkdirSync(out, { recursive: true })
// The compiler finds openapi-fetch in the packages that were installed here.
if (!existsSync(join(out, 'node_modules'))) symlinkSync(join(here, 'node_modules'), join(out, 'node_modules'), 'dir')
await typescript(doc, join(out, 'typescript'))
await python(doc, join(out, 'python'))
