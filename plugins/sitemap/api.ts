/** Path of the sitemap, or of the index of its parts. */
export const SITEMAP = '/sitemap.xml';
