import type MarkdownIt from 'markdown-it';
import type { StateCore } from 'markdown-it';

const BOX = /^\[([ xX])\] /;

/** `- [ ]` and `- [x]` as disabled check boxes, each with its item as its label. */
export function taskLists(markdown: InstanceType<typeof MarkdownIt>): void {
  markdown.core.ruler.push('task_lists', boxes);
  markdown.renderer.rules['task_box'] = (tokens, index) =>
    `<input type="checkbox" disabled="disabled"${tokens[index]!.info === ' ' ? '' : ' checked="checked"'}> `;
}

function boxes({ tokens, Token }: StateCore): void {
  for (const [index, token] of tokens.entries()) {
    const item = tokens[index - 2];
    const first = token.children?.[0];
    if (token.type !== 'inline' || item?.type !== 'list_item_open' || first?.type !== 'text') continue;
    const mark = BOX.exec(first.content)?.[1];
    if (mark === undefined) continue;
    first.content = first.content.slice(4);
    item.attrJoin('class', 'task');
    const box = new Token('task_box', 'input', 0);
    box.info = mark;
    token.children = [
      new Token('label_open', 'label', 1),
      box,
      ...(token.children ?? []),
      new Token('label_close', 'label', -1),
    ];
  }
}
