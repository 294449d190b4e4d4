# The dependencies apart, so that a change of the code does not install them again.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image brings Node itself: the copy of it among the dependencies is taken out again.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY core core
COPY plugins plugins
COPY themes themes
COPY migrations migrations
COPY config config
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm: the signal to stop must reach the server itself.
CMD ["node", "--min-semi-space-size=8", "--max-semi-space-size=8", "--memory-saver-mode", "--heap-growing-percent=30", "--initial-old-space-size=64", "core/main.ts"]
