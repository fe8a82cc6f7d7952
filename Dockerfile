# The CPU image: docker build -t mindtorch . && docker run --rm -it -v "$PWD:/work" mindtorch train.py
# With transformers 5: docker build --build-arg EXTRAS=cpu,demo -t mindtorch .
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
ARG EXTRAS=cpu
COPY setup.py setup.cfg pyproject.toml README.md LICENSE ./
COPY mindtorch_proxy mindtorch_proxy
COPY runtime runtime
COPY backends backends
COPY stubs stubs
COPY examples examples
RUN pip install --no-cache-dir -c mindtorch_proxy/constraints/cpu.txt ".[$EXTRAS]" && mindtorch-activate --install --with-metadata
# what is installed on top of this image comes in versions that go with NumPy 1, and without the real torch
RUN pip config --site set global.constraint "$(mindtorch-activate constraints)" && python -m mindtorch_proxy doctor
WORKDIR /work
ENTRYPOINT ["python", "-m", "mindtorch_proxy"]
