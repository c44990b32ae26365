from setuptools import find_packages, setup

setup(name="cs336_basics", version="0.2", packages=find_packages(), install_requires=["torch"])
