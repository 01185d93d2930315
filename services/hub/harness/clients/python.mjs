// Writes the two generated modules of the Python client: the types by quicktype, and a method for each operation.
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core'

const pascal = (name) => name.split('_').map((word) => word[0].toUpperCase() + word.slice(1)).join('')

// operations returns the operations of the document with the parts of a method. Routes of compatibility are left out: each
// is another route of an operation that is here.
function operations(doc) {
  const all = []
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const [method, action] of Object.entries(item)) {
      if (/_compat\d+$/.test(action.operationId)) continue
      const parameters = (action.parameters ?? []).filter((p) => p.in === 'path' || p.in === 'query')
      const body = action.requestBody?.content['application/json'].schema
      const input = { type: 'object', ...structuredClone(body ?? {}), additionalProperties: false }
      input.properties = { ...input.properties }
      input.required = [...(input.required ?? [])]
      for (const p of parameters) {
        input.properties[p.name] = { description: p.description, ...p.schema }
        if (p.required) input.required.push(p.name)
      }
      const [, answer] = Object.entries(action.responses).find(([status]) => status.startsWith('2'))
      all.push({
        name: action.operationId, method: method.toUpperCase(), path, summary: action.summary, description: action.description,
        input, output: answer.content['application/json'].schema.properties.data,
        places: parameters.filter((p) => p.in === 'path').map((p) => p.name),
      })
    }
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1))
}

// words returns the name of a field with each word's first letter in capitals.
const words = (field) => pascal(field.replace(/([a-z])([A-Z])/g, '$1_$2'))

// choices gives each list of choices one name in all operations: that of its field or, where another list has that name,
// with the operation before it.
class Choices {
  #names = new Map()

  name(values, operation, field) {
    const key = JSON.stringify([...values].sort())
    if (!this.#names.has(key)) {
      const taken = new Set(this.#names.values())
      this.#names.set(key, [words(field), pascal(operation) + words(field)].find((name) => !taken.has(name)))
    }
    return this.#names.get(key)
  }
}

// named returns a copy of a schema whose choices have names. Times are texts in Python.
function named(schema, choices, operation, field) {
  const copy = { ...schema }
  delete copy.format
  if (copy.enum) copy.title = choices.name(copy.enum, operation, field)
  if (copy.items) copy.items = named(copy.items, choices, operation, field)
  if (copy.properties) {
    copy.properties = Object.fromEntries(Object.entries(copy.properties).map(([name, s]) =>
      [name, named(s, choices, operation, name)]))
  }
  return copy
}

// open returns a copy of a schema that admits the answers of a newer server.
function open(schema) {
  if (Array.isArray(schema)) return schema.map(open)
  if (schema === null || typeof schema !== 'object') return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, open(value)]))
  if (Array.isArray(copy.enum)) delete copy.enum
  if (typeof copy.const === 'string') delete copy.const
  return copy
}

const head = '"""Generated from the OpenAPI document of Parley."""\n\n'

export async function pythonModels(doc) {
  const schemas = new JSONSchemaInput(undefined)
  const choices = new Choices()
  for (const o of operations(doc)) {
    const [input, output] = [pascal(o.name) + 'Input', pascal(o.name) + 'Output']
    await schemas.addSource({ name: input, schema: JSON.stringify(named(o.input, choices, o.name, '')) })
    await schemas.addSource({ name: output, schema: JSON.stringify(named(open(o.output), choices, o.name, '')) })
  }
  const inputData = new InputData()
  inputData.addInput(schemas)
  const { lines } = await quicktype({
    inputData, lang: 'python', combineClasses: false, rendererOptions: { 'python-version': '3.7' },
  })
  return head + lines.join('\n')
}

// classes returns a function that finds the class of a name in the models: quicktype writes some words in capitals.
function classes(models) {
  const all = new Map([...models.matchAll(/^class (\w+)/gm)].map(([, name]) => [name.toLowerCase(), name]))
  return (name) => {
    const found = all.get(name.toLowerCase())
    if (!found) throw new Error(`the models have no class ${name}`)
    return `models.${found}`
  }
}

export function pythonClient(doc, models) {
  const all = operations(doc)
  const find = classes(models)
  let text = head + 'from . import models\nfrom .transport import Transport\n\n\nclass Parley(Transport):\n'
  text += '    """A server, as the caller whose key it is given. Each method is an operation."""\n'
  for (const o of all) {
    const [input, output] = [find(pascal(o.name) + 'Input'), find(pascal(o.name) + 'Output')]
    const needed = o.input.required.length > 0
    text += `\n    def ${o.name}(self, input: ${input}${needed ? '' : ` = ${input}()`}) -> ${output}:\n`
    text += `        """${[o.summary, o.description].join('\n\n        ').replaceAll('\\', '\\\\').replaceAll('"""', "'''")}"""\n`
    text += `        data = self.call(${JSON.stringify(o.method)}, ${JSON.stringify(o.path)}, input.to_dict(), ${JSON.stringify(o.places)})\n`
    text += `        return ${output}.from_dict(data)\n`
  }
  return text
}
