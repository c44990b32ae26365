# prenorm in a container, on Debian 12:  docker build -t prenorm .
# docs/install.md says how to run it. Packages come first: an edit of the sources installs nothing.
ARG BASE=debian:12

# What builds it.
FROM ${BASE} AS tools
COPY prenorm /tmp/prenorm/
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(/tmp/prenorm/prenorm packages) xz-utils \
 && rm -rf /var/lib/apt/lists/*

# What a developer works in, with a checkout mounted: .devcontainer/devcontainer.json.
FROM tools AS develop
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(/tmp/prenorm/prenorm packages test) ca-certificates ccache clang-format git gdb python3-pip \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --shell /bin/bash prenorm
USER prenorm

FROM tools AS build
COPY . /tmp/prenorm/
RUN cd /tmp/prenorm && cmake --workflow --preset archive \
 && mkdir /opt/prenorm \
 && tar -xf build/archive/prenorm-*.tar.xz -C /opt/prenorm --strip-components=1

# What runs it. The second line is what submissions need: PyTorch, and a compiler for C++.
FROM ${BASE}
ARG PACKAGES="python3-numpy python3-h5py bubblewrap"
ARG SUBMISSIONS="python3-torch g++ cmake ninja-build"
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      python3 ${PACKAGES} ${SUBMISSIONS} \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --shell /bin/bash prenorm
COPY --from=build /opt/prenorm /opt/prenorm
ENV PATH=/opt/prenorm/bin:$PATH
USER prenorm
WORKDIR /home/prenorm
CMD ["prenorm", "doctor"]
