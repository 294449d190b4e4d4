interface BadgeTexts {
  readonly label: string;
  readonly short: string;
  readonly icon: Element;
}

/** Shows on a post that its reader keeps it, or no longer where there is no id; the sign. */
export function showBadge(post: Element | null, id: string, { label, short, icon }: BadgeTexts): HTMLAnchorElement {
  const badge = document.createElement('a');
  Object.assign(badge, { className: 'badge bookmark-badge', href: `/bookmarks/${id}`, ariaLabel: label });
  badge.append(icon.cloneNode(true), short);
  post?.querySelector('.bookmark-badge')?.remove();
  if (id) post?.querySelector('.post-by')?.after(badge);
  return badge;
}
