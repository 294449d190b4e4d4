interface BadgeTexts {
  readonly label: string;
  readonly short: string;
  readonly icon: Element;
}

/** Shows the bookmark badge on a post, or removes it if the id is empty. Returns the badge. */
export function showBadge(post: Element | null, id: string, { label, short, icon }: BadgeTexts): HTMLAnchorElement {
  const badge = document.createElement('a');
  Object.assign(badge, { className: 'badge bookmark-badge', href: `/bookmarks/${id}`, ariaLabel: label });
  badge.append(icon.cloneNode(true), short);
  post?.querySelector('.bookmark-badge')?.remove();
  if (id) post?.querySelector('.post-by')?.after(badge);
  return badge;
}
