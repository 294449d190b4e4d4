import { html, type SafeHtml } from 'parley-forum/plugins/web';
import { components } from './components.ts';
import type { JsonSchema, OpenApi, Operation, Parameter } from './openapi.ts';

/** The reference as a single page without scripts. */
export function docsPage({ info, servers, tags, paths }: OpenApi): SafeHtml {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const groups = tags.map(({ name }) => ({
    name,
    entries: all.filter(({ operation }) => operation.tags.includes(name)),
  }));
  return html`<!doctype html>
<html lang="en" dir="ltr">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${info.title}</title><link rel="stylesheet" href="/api/docs/style.css"></head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><h1>${info.title}</h1><p>Version ${info.version} · <a href="/api/openapi.json">OpenAPI document</a> · <a href="/">Back to the forum</a></p></header>
<nav aria-label="Groups"><ul>${groups.map(({ name }) => html`<li><a href="#${name}">${name}</a></li>`)}</ul></nav>
<main id="main" tabindex="-1">
<section class="start"><h2>Getting started</h2>
<p>Responses are JSON objects with <code>success</code>. A failure has a message in <code>error</code>, a stable <code>code</code>, and the
invalid fields in <code>details</code>.</p>
<p>Create a token under <a href="/settings/security">Settings → Security</a>. What guests may read requires none.</p>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer TOKEN' ${servers[0]?.url ?? ''}/api/users/discussions</code></pre>
<p>Lists accept <code>limit</code> with <code>offset</code> or <code>cursor</code>, and return <code>count</code>, <code>hasMore</code> and
<code>next_cursor</code>. The headers <code>X-RateLimit-Limit</code>, <code>-Remaining</code> and <code>-Reset</code> report how many calls are
left; after a 429, wait as long as <code>Retry-After</code> says.</p>
<p>A call that creates something may have an <code>Idempotency-Key</code> of your choice. If it is sent again with the same key within a
day, it creates nothing and gets the first response, so it is safe to repeat a call whose response was lost.</p></section>
${groups.map(
  ({ name, entries }) =>
    html`<section id="${name}"><h2>${name}</h2>${entries.map(entry)}</section>
`,
)}</main>
</body>
</html>
`;
}

function entry({ path, method, operation }: { path: string; method: string; operation: Operation }): SafeHtml {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const answers = Object.entries(operation.responses).flatMap(([status, response]) => {
    const { content } = response as { readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>> };
    const schema = content?.['application/json']?.schema;
    return schema ? [{ status, schema }] : [];
  });
  return html`<details id="${operation.operationId}">
<summary><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code> <span>${operation.summary}</span></summary>
<p class="access">${access(operation)}</p>
${operation.parameters.length > 0 && parameters(operation.parameters.map((one) => ('$ref' in one ? components.parameters.IdempotencyKey : one)))}
${body && shape('Body', body)}
${answers.map(({ status, schema }, at) => shape(at === 0 ? 'Response' : `Response ${status}`, schema))}
</details>`;
}

function access({ security }: Operation): string {
  const guests = security.some((way) => Object.keys(way).every((name) => name === 'csrf'));
  const token = security.some((way) => 'csrf' in way)
    ? ' With a login instead of a bearer token, it requires the CSRF token.'
    : '';
  return `${guests ? 'Open to guests.' : 'For members.'}${token}`;
}

const parameters = (list: readonly Parameter[]): SafeHtml =>
  html`<table><caption>Parameters</caption>
<thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Notes</th></tr></thead>
<tbody>${list.map(
    ({ name, in: place, required, schema, description }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${place}</td>
<td>${typeName(schema)}</td><td>${[required && 'required', description].filter(Boolean).join(': ')}</td></tr>`,
  )}</tbody></table>`;

const shape = (title: string, schema: JsonSchema): SafeHtml =>
  html`<h3>${title}</h3><pre tabindex="0"><code>${sketch(schema, '')}</code></pre>`;

interface Nested {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
}

/** Prints a schema like a TypeScript type, which is quicker to read than the schema. */
function sketch(schema: JsonSchema, indent: string): string {
  const { properties, required = [], items, allOf, anyOf } = schema as Nested;
  if (properties) {
    const inner = `${indent}  `;
    const lines = Object.entries(properties).map(
      ([name, property]) => `${inner}${name}${required.includes(name) ? '' : '?'}: ${sketch(property, inner)}\n`,
    );
    return `{\n${lines.join('')}${indent}}`;
  }
  if (items) return `[${sketch(items, indent)}]`;
  if (allOf ?? anyOf) return (allOf ?? anyOf)!.map((part) => sketch(part, indent)).join(allOf ? ' & ' : ' | ');
  return typeName(schema);
}

function typeName({
  type,
  format,
  enum: allowed,
  const: only,
  anyOf,
  items,
  minimum,
  maximum,
  maxLength,
}: JsonSchema): string {
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(allowed)) return allowed.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map((part) => typeName(part as JsonSchema)).join(' | ');
  if (type === 'array') return `[${typeName((items ?? {}) as JsonSchema)}]`;
  const bounds = [
    minimum !== undefined && `≥ ${String(minimum)}`,
    maximum !== undefined && `≤ ${String(maximum)}`,
    maxLength !== undefined && `≤ ${String(maxLength)} characters`,
  ].filter(Boolean);
  return `${String(format ?? type ?? 'any')}${bounds.length > 0 ? ` (${bounds.join(', ')})` : ''}`;
}
